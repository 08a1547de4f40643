import type {
  Change,
  ChangeFeedSource,
  DocumentBody,
  FeedMode,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import { KnownFeed, type FoundFeed } from '../workers/change-identity.ts'
import type { PatientWriter } from './patient-writer.ts'
import { sinkEntry } from './sink-entry.ts'
import type { SyncEvent } from './sync-events.ts'

export interface SyncObserverParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly mode: FeedMode | undefined
  readonly writer: PatientWriter<T>
  /** Which changes go to the sink, of the feed as it was found when the range was opened, or a new epoch begun. */
  readonly isChosen: (change: Change<T>, found: FoundFeed) => boolean
  readonly emit: (event: SyncEvent) => void
}

/** Writes the changes of one leased range to the sink, in their order. */
export class SyncObserver<T extends DocumentBody> implements IChangeFeedObserver<T> {
  readonly #parts: SyncObserverParts<T>
  readonly #feed: KnownFeed<T>

  constructor(parts: SyncObserverParts<T>) {
    this.#parts = parts
    this.#feed = new KnownFeed(parts.feed, parts.mode)
  }

  async open(context: ObserverContext): Promise<void> {
    await this.#feed.open(context)
  }

  /** Resolves when the entries are durable; the host stores the position only then. */
  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const { writer, isChosen, emit } = this.#parts
    const from = await this.#feed.at(context)
    const chosen = changes.filter((change) => isChosen(change, from))
    const entries = chosen.map((change) => sinkEntry(from, change))
    const last = entries.at(-1)
    if (last === undefined) return
    const { group: job, leaseId, range, fence, signal } = context
    signal.throwIfAborted()
    await writer.write(entries, { source: from.description, job, range, fence, signal })
    const { epoch } = fence
    emit({ kind: 'written', leaseId, epoch, entries: entries.length, lsn: last.lsn })
  }
}
