import type { Change, DocumentBody, FeedObserver, IChangeFeedObserver } from '@tidemark/contracts'
import type { Member } from '../world/member.ts'
import type { AppendedDocument } from '../world/simulated-feed.ts'
import type { Workload } from '../world/workload.ts'
import type { SimulatedObserverFactory } from './simulate-options.ts'

/** Documents and observers of a user, for one run. */
export class UserWorkload<T extends DocumentBody, World> implements Workload {
  readonly documents: readonly AppendedDocument<DocumentBody>[]
  delivered = 0
  deliveredAgain = 0
  /** What the user's code threw last. */
  lastError: unknown
  readonly #seen = new Set<unknown>()
  readonly #factory: SimulatedObserverFactory<T, World>
  readonly #world: World
  /** Calls that have not returned, in processes that live. */
  readonly #running = new Set<{ readonly member: Member }>()

  constructor({
    documents,
    factory,
    world,
  }: {
    readonly documents: readonly AppendedDocument<T>[]
    readonly factory: SimulatedObserverFactory<T, World>
    readonly world: World
  }) {
    this.documents = documents
    this.#factory = factory
    this.#world = world
  }

  /** Why a run may have failed that the user's code had a part in; empty when there is nothing to tell. */
  get hint(): string {
    const stuck = [...this.#running].some(({ member }) => member.process.state === 'running')
    if (stuck) {
      return '; a call of the observer has not returned: only worker.clock and worker.request let simulated time pass'
    }
    if (this.lastError === undefined) return ''
    const { lastError } = this
    const text =
      lastError instanceof Error ? `${lastError.name}: ${lastError.message}` : typeof lastError
    return `; the observer last threw ${text}`
  }

  observerIn(member: Member): FeedObserver {
    const { process, name, outside } = member
    const world = this.#world
    const own = this.#factory({
      hostName: name,
      clock: process,
      random: process.random,
      request: (work) => outside.request(() => work(world)),
    })
    const ends: Pick<IChangeFeedObserver, 'open' | 'close'> = {
      open: (context) => own.open?.(context),
      close: (context, reason) => own.close?.(context, reason),
    }
    const called = (changes: readonly Change[], call: () => Promise<void> | void): Promise<void> =>
      this.#called(member, changes, call)
    // Changes of documents that this user wrote.
    if ('processChange' in own) {
      return {
        ...ends,
        processChange: (context, change) =>
          called([change], () => own.processChange(context, change as Change<T>)),
      }
    }
    return {
      ...ends,
      processChanges: (context, changes) =>
        called(changes, () => own.processChanges(context, changes as readonly Change<T>[])),
    }
  }

  async #called(
    member: Member,
    changes: readonly Change[],
    work: () => Promise<void> | void,
  ): Promise<void> {
    for (const change of changes) {
      this.delivered += 1
      if (this.#seen.has(change)) this.deliveredAgain += 1
      this.#seen.add(change)
    }
    const call = { member }
    this.#running.add(call)
    try {
      await work()
    } catch (error) {
      this.lastError = error
      throw error
    } finally {
      this.#running.delete(call)
    }
  }
}
