import type { LeaseGroup } from '@tidemark/contracts'
import type { TransitionRow } from '../views.ts'

/** Moves of leases that the lease store remembers, oldest first. Undefined: it keeps none. */
export async function readTimeline(
  _group: LeaseGroup,
): Promise<readonly TransitionRow[] | undefined> {
  return undefined
}
