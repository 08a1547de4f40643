import type { FeedRange } from '@tidemark/contracts'

/** Whose work is written: refused as soon as a later owner of the range has written. */
export interface RangeOwner {
  readonly range: FeedRange
  readonly epoch: number
  readonly hostName: string
  /**
   * Which of the job's two groups of leases the epoch is of: `copy` reads documents, `deletes` the log of
   * all versions. Each is fenced by itself; what they do to one document is ordered by its LSNs.
   */
  readonly group: 'copy' | 'deletes'
}
