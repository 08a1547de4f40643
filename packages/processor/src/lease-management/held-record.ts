import {
  DIGEST_MODULUS,
  type Checkpoint,
  type CloseReason,
  type FeedRange,
  type HeldDigest,
  type HeldLease,
  type Lease,
  type NewLease,
} from '@tidemark/contracts'
import type { PumpReplacement, ReleaseReason, ReplaceCause } from './lease-protocol.ts'
import type { OpenPumps } from './open-pumps.ts'

/**
 * - `waiting`: owned; the pump of an earlier epoch has not closed yet.
 * - `running`: owned, with a pump.
 * - `draining`: the pump finishes its batch; then `releasing`, or `replacing` if it is to be cut.
 * - `aborting`: it took too long; the pump was aborted; then `releasing` without a checkpoint, or `replacing` if it is to be cut.
 * - `releasing`: no pump; the store is being told.
 * - `replacing`: other leases are to come in its place; its pump closes, or has closed.
 * - `rangeGone`: owned, no pump: the range is gone, and nothing is known to come in its place.
 * - `fenced`: owned, no pump: a sink refuses its epoch. Given back when it is due, to be got at a new one.
 */
export type HeldState =
  | 'waiting'
  | 'running'
  | 'draining'
  | 'aborting'
  | 'releasing'
  | 'replacing'
  | 'rangeGone'
  | 'fenced'

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
  /** The newest epoch that a sink has named: the next owner's has to be above it. */
  seenEpoch: number | undefined
  /** When the time to drain is over, or a fenced lease is given back. */
  dueMs: number
  final: Checkpoint | undefined
  replacement: Replacement | undefined
  /** While its pump ends for it: the parts that it is to be cut into. */
  cut: readonly FeedRange[] | undefined
}

/** A lease that has just come. */
export function newHeldRecord(
  held: HeldLease,
  { lease, sinceCallId, state }: Pick<HeldRecord, 'lease' | 'sinceCallId' | 'state'>,
): HeldRecord {
  return {
    held,
    lease,
    sinceCallId,
    state,
    stored: lease.checkpoint,
    wanted: lease.checkpoint,
    dirty: false,
    releaseReason: 'unplanned',
    seenEpoch: undefined,
    dueMs: Infinity,
    final: undefined,
    replacement: undefined,
    cut: undefined,
  }
}

/** What replaces a lease whose pump has closed for it. */
export function replacementOf(
  { held, lease, wanted }: HeldRecord,
  replacement: PumpReplacement,
): Replacement {
  const { cause } = replacement
  const next =
    replacement.cause === 'restart'
      ? [{ range: lease.range, checkpoint: replacement.checkpoint }]
      : replacement.ranges.map((range) => ({ range, checkpoint: wanted }))
  return { cause, old: [held], next }
}

/** Sums over leases, to compare with what the store attributes to their holder. */
export function digestOf(records: Iterable<HeldRecord>): HeldDigest {
  let count = 0
  let epochSum = 0
  let lsnSum = 0
  for (const { held, stored } of records) {
    count += 1
    epochSum = (epochSum + (held.epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
    lsnSum = (lsnSum + (stored.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
  }
  return { count, epochSum, lsnSum }
}

/** How a lease is taken note of that the store gave. */
export interface AddOptions {
  /** False: it goes back at once. */
  readonly keep: boolean
  readonly generation: string
  /** Reads sent before this call cannot know of the lease. */
  readonly sinceCallId: number
  /** The call that was answered with it. */
  readonly answerTo: number
}

/** One held lease, to look at. */
export interface HeldView {
  readonly held: HeldLease
  readonly state: HeldState
  readonly range: FeedRange
  readonly stored: Checkpoint
}

export function viewOf({ held, state, stored, lease: { range } }: HeldRecord): HeldView {
  return { held, state, stored, range }
}

/** What an observer is told. */
export function closeReasonOf(reason: ReleaseReason): CloseReason {
  return reason === 'shutdown' ? 'shutdown' : 'leaseHandedOver'
}

/** Whether the position of a lease may still move. */
export function mayProgress({ state, held }: HeldRecord, pumps: OpenPumps): boolean {
  if (state === 'replacing') return pumps.has(held)
  return state === 'running' || state === 'draining'
}

export function isCheckpointDue({ dirty, state, held }: HeldRecord, pumps: OpenPumps): boolean {
  if (!dirty || state === 'aborting' || state === 'releasing') return false
  // A replacement carries the position itself.
  return state !== 'replacing' || pumps.has(held)
}
