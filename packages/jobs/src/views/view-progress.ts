import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { readAllProgress } from '../effectively-once/ledger.ts'
import type { WatchedGroups } from '../workers/job-groups.ts'
import type { RangeLag } from '../workers/range-lag.ts'
import type { OpenedViewStorage } from './open-view-storage.ts'
import { NO_COUNTS, addCounts, type ViewCounts } from './state-documents.ts'
import type { ViewEdition } from './view-record.ts'

/** How far one edition of a view is, over all its workers. Counts are those of all ranges, since it was begun. */
export interface ViewProgress extends ViewCounts {
  readonly view: string
  readonly edition: number
  readonly version: string
  /**
   * `starting`: no worker has started, or the source is still asked which documents are gone. `building`: there is more to
   * apply. `caughtUp`: the view has everything that was committed up to this reading.
   */
  readonly state: 'starting' | 'building' | 'caughtUp'
  /** Keys that the view has now. */
  readonly keys: number
  /** Documents of the source that are in the view now. */
  readonly documents: number
  /** Transactions of the source that are not applied yet, over all ranges; undefined while it is starting. */
  readonly lag: number | undefined
  readonly ranges: readonly RangeLag[]
}

/** What is looked at: the view, and the groups that read for it. */
export interface WatchedEdition<T extends DocumentBody> {
  readonly name: string
  readonly edition: ViewEdition
  readonly storage: OpenedViewStorage
  readonly groups: WatchedGroups<T>
}

export async function readViewProgress<T extends DocumentBody>(
  { name, edition, storage, groups }: WatchedEdition<T>,
  { signal }: RequestOptions = {},
): Promise<ViewProgress> {
  const [progress, keys, { documents = [], deletes = [], total: lag }] = await Promise.all([
    readAllProgress(storage),
    storage.collection.count({ signal }),
    groups.lag({ signal }),
  ])
  const counts = progress.reduce<ViewCounts>(addCounts, NO_COUNTS)
  return {
    added: counts.added,
    updated: counts.updated,
    moved: counts.moved,
    removed: counts.removed,
    view: name,
    edition: edition.number,
    version: edition.version,
    state: lag === undefined ? 'starting' : lag === 0 ? 'caughtUp' : 'building',
    keys,
    documents: counts.added - counts.removed,
    lag,
    ranges: [...documents, ...deletes],
  }
}
