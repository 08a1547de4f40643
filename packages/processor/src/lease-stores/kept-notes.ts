import type { HostSummary, LeaseTransition } from '@tidemark/contracts'

/** Summaries that a lease store keeps of a group's hosts. */
export const SUMMARIES_KEPT = 256

/** The summaries with one more; of too many, the oldest go. */
export function withSummary(
  kept: readonly HostSummary[],
  summary: HostSummary,
  most: number,
): readonly HostSummary[] {
  return [...kept.filter(({ host }) => host !== summary.host), summary].slice(-most)
}

/** The last `most` transitions, oldest first. */
export function withTransitions(
  kept: readonly LeaseTransition[],
  more: readonly LeaseTransition[],
  most: number,
): readonly LeaseTransition[] {
  return [...kept, ...more].slice(-most)
}
