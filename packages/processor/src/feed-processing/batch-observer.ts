import {
  InvalidOptionError,
  type Change,
  type DocumentBody,
  type FeedObserver,
  type IChangeFeedObserver,
  type ISingleChangeObserver,
  type ObserverContext,
} from '@tidemark/contracts'

/** An observer as a pump calls it. */
export interface BatchObserver<
  T extends DocumentBody = DocumentBody,
> extends IChangeFeedObserver<T> {
  /** It takes one change after the other: what fails is the first one that it has not accepted. */
  readonly isOneByOne?: boolean
}

export function isObserver(value: unknown): value is FeedObserver {
  if (typeof value !== 'object' || value === null) return false
  return hasMethod(value, 'processChanges') || hasMethod(value, 'processChange')
}

export function batchObserver<T extends DocumentBody>(observer: FeedObserver<T>): BatchObserver<T> {
  return 'processChanges' in observer ? observer : new OneByOne(observer)
}

class OneByOne<T extends DocumentBody> implements BatchObserver<T> {
  readonly isOneByOne = true
  readonly #observer: ISingleChangeObserver<T>

  constructor(observer: ISingleChangeObserver<T>) {
    this.#observer = observer
  }

  async open(context: ObserverContext): Promise<void> {
    await this.#observer.open?.(context)
  }

  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    let { attempt } = context
    for (const change of changes) {
      const fence = { ...context.fence, lsn: change.lsn }
      await this.#observer.processChange({ ...context, fence, attempt, checkpoint }, change)
      if (!context.accepted(change)) return
      attempt = 1
    }
  }

  async resynchronize(
    ...given: Parameters<NonNullable<IChangeFeedObserver<T>['resynchronize']>>
  ): Promise<void> {
    await this.#observer.resynchronize?.(...given)
  }

  async close(...given: Parameters<NonNullable<IChangeFeedObserver<T>['close']>>): Promise<void> {
    await this.#observer.close?.(...given)
  }
}

async function checkpoint(): Promise<void> {
  throw new InvalidOptionError(
    'checkpoint() is for processChanges: with processChange, a change that is accepted needs none',
  )
}

function hasMethod(value: object, name: string): boolean {
  return name in value && typeof Reflect.get(value, name) === 'function'
}
