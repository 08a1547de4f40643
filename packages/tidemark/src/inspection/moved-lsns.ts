import type { MovedLease } from '@tidemark/processor'

/** The maximum number of transactions that moves skip. */
export function skipped(moves: readonly MovedLease[]): number {
  return moves.reduce((sum, { fromLsn, toLsn }) => sum + Math.max(0, toLsn - (fromLsn ?? toLsn)), 0)
}

/** The maximum number of transactions that are delivered again after moves. */
export function repeated(moves: readonly MovedLease[]): number {
  return moves.reduce((sum, { fromLsn, toLsn }) => sum + Math.max(0, (fromLsn ?? toLsn) - toLsn), 0)
}
