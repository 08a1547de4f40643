import type {
  Checkpoint,
  CloseReason,
  FeedRange,
  HeldLease,
  Lease,
  NewLease,
} from '@tidemark/contracts'
import type { ReplaceCause } from './lease-protocol.ts'

/**
 * - `waiting`: owned; the pump of an earlier epoch has not closed yet.
 * - `running`: owned, with a pump.
 * - `draining`: the pump finishes its batch; then `releasing`.
 * - `aborting`: it took too long; the pump was aborted; then `releasing` without a checkpoint.
 * - `releasing`: no pump; the store is being told.
 * - `replacing`: other leases are to come in its place; its pump closes, or has closed.
 * - `rangeGone`: owned, no pump: the range is gone, and nothing is known to come in its place.
 */
export type HeldState =
  'waiting' | 'running' | 'draining' | 'aborting' | 'releasing' | 'replacing' | 'rangeGone'

export type ReleaseReason = 'leaseHandedOver' | 'shutdown' | 'unplanned' | 'observerStuck'

/** Leases that are to be replaced by others in one step. */
export interface Replacement {
  readonly cause: ReplaceCause
  readonly old: readonly HeldLease[]
  readonly next: readonly NewLease[]
}

/** A lease that a host holds, and what is to become of it. */
export interface HeldRecord {
  readonly held: HeldLease
  readonly lease: Lease
  /** Reads sent before this call cannot know of it. */
  readonly sinceCallId: number
  state: HeldState
  /** The last position that the store acknowledged. */
  stored: Checkpoint
  /** The position that it is to have. */
  wanted: Checkpoint
  dirty: boolean
  releaseReason: ReleaseReason
  drainDeadlineMs: number
  final: Checkpoint | undefined
  replacement: Replacement | undefined
}

/** One held lease, to look at. */
export interface HeldView {
  readonly held: HeldLease
  readonly state: HeldState
  readonly range: FeedRange
  readonly stored: Checkpoint
}

/** What an observer is told. */
export function closeReasonOf(reason: ReleaseReason): CloseReason {
  return reason === 'shutdown' ? 'shutdown' : 'leaseHandedOver'
}
