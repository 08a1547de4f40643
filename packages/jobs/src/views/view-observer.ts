import {
  errorCode,
  type Change,
  type DocumentBody,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import type { ViewEvent } from './view-events.ts'
import type { ViewOwner } from './view-storage.ts'
import type { ViewWriter } from './view-writer.ts'

/** Applies the changes of one leased range of the source. */
export class ViewObserver<T extends DocumentBody> implements IChangeFeedObserver<T> {
  readonly #writer: ViewWriter<T>
  readonly #group: ViewOwner['group']
  readonly #emit: (event: ViewEvent) => void

  constructor(
    writer: ViewWriter<T>,
    group: ViewOwner['group'],
    emit: (event: ViewEvent) => void = () => {},
  ) {
    this.#writer = writer
    this.#group = group
    this.#emit = emit
  }

  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const { leaseId, range, hostName, signal } = context
    const { epoch } = context.fence
    try {
      const owner = { group: this.#group, range, epoch, hostName }
      const { counts, replays } = await this.#writer.apply(changes, owner, signal)
      this.#emit({ kind: 'applied', leaseId, epoch, changes: changes.length, ...counts, replays })
    } catch (error) {
      if (errorCode(error) === 'ERR_FENCED_WRITE') this.#emit({ kind: 'fenced', leaseId, epoch })
      // Another worker has this range, or had: the host sees which, and does not try again at this epoch.
      throw error
    }
  }
}
