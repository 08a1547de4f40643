import type { FeedRange } from '@tidemark/contracts'

/** Whose work is written: refused as soon as a later owner of the range has written. */
export interface RangeOwner {
  readonly range: FeedRange
  readonly epoch: number
  readonly hostName: string
}
