import type { DocumentBody, FeedObserver } from '@tidemark/contracts'
import type { Member } from './member.ts'
import type { AppendedDocument } from './simulated-feed.ts'

/** What is written, and who processes it, where that is not left to chance: for one run. */
export interface Workload {
  /** One commit each, in this order. */
  readonly documents: readonly AppendedDocument<DocumentBody>[]
  /** The observer of one range in one process. */
  observerIn(member: Member): FeedObserver
}
