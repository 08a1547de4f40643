import {
  DIGEST_MODULUS,
  type AcquiredLease,
  type Checkpoint,
  type CheckpointOutcome,
  type CheckpointRequest,
  type CloseReason,
  type HeldDigest,
  type HeldLease,
  type Lease,
  type ReleaseRequest,
} from '@tidemark/contracts'
import type { EffectSink, LostCause } from './lease-protocol.ts'

/**
 * - `waiting`: owned; the pump of an earlier epoch has not closed yet.
 * - `running`: owned, with a pump.
 * - `draining`: the pump finishes its batch; then `releasing`.
 * - `aborting`: it took too long; the pump was aborted; then `releasing` without a checkpoint.
 * - `releasing`: no pump; the store is being told.
 * - `rangeGone`: owned, no pump: the range was split or merged away.
 */
export type HeldState = 'waiting' | 'running' | 'draining' | 'aborting' | 'releasing' | 'rangeGone'

export type ReleaseReason = 'leaseHandedOver' | 'shutdown' | 'unplanned'

interface HeldRecord {
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
}

/** One held lease, to look at. */
export interface HeldView {
  readonly held: HeldLease
  readonly state: HeldState
  readonly stored: Checkpoint
}

/** The leases that one incarnation of a host holds, and the pumps that are open for them. */
export class LeaseTable {
  readonly #effects: EffectSink
  readonly #records = new Map<string, HeldRecord>()
  /** Pumps that have not closed, also of leases that are lost. One a lease, so that none overlap. */
  readonly #pumps = new Map<string, HeldLease>()

  constructor(effects: EffectSink) {
    this.#effects = effects
  }

  get size(): number {
    return this.#records.size
  }

  get openPumps(): number {
    return this.#pumps.size
  }

  has(leaseId: string): boolean {
    return this.#records.has(leaseId)
  }

  views(): readonly HeldView[] {
    return [...this.#records.values()].map(({ held, state, stored }) => ({ held, state, stored }))
  }

  /** Takes note of a lease that the store gave. `keep` false: it goes back at once. */
  add(
    { leaseId, epoch, lease }: AcquiredLease,
    { keep, generation, sinceCallId }: { keep: boolean; generation: string; sinceCallId: number },
  ): void {
    const before = this.#records.get(leaseId)
    if (before?.held.epoch === epoch) return
    if (before !== undefined) this.lose(leaseId, 'takenOver')
    const held: HeldLease = { leaseId, epoch }
    const record: HeldRecord = {
      held,
      lease,
      sinceCallId,
      state: keep ? 'waiting' : 'releasing',
      stored: lease.checkpoint,
      wanted: lease.checkpoint,
      dirty: false,
      releaseReason: 'unplanned',
      drainDeadlineMs: Infinity,
      final: undefined,
    }
    this.#records.set(leaseId, record)
    if (!keep) return
    const { checkpoint } = lease
    this.#effects.push({ kind: 'emit', notice: { kind: 'acquired', held, checkpoint } })
    this.#startPump(record, generation)
  }

  drain(leaseId: string, reason: ReleaseReason, deadlineMs: number): void {
    const record = this.#records.get(leaseId)
    if (record === undefined) return
    switch (record.state) {
      case 'waiting':
      case 'rangeGone':
        record.state = 'releasing'
        record.releaseReason = reason
        return
      case 'running':
        record.state = 'draining'
        record.releaseReason = reason
        record.drainDeadlineMs = deadlineMs
        this.#effects.push({
          kind: 'drainPump',
          held: record.held,
          reason: closeReasonOf(reason),
        })
        return
      case 'draining':
        record.drainDeadlineMs = Math.min(record.drainDeadlineMs, deadlineMs)
        return
      case 'aborting':
      case 'releasing':
        return
    }
  }

  drainAll(reason: ReleaseReason, deadlineMs: number): void {
    for (const leaseId of this.#records.keys()) this.drain(leaseId, reason, deadlineMs)
  }

  /** Aborts the pumps whose time to drain is over. */
  abortOverdue(nowMs: number): void {
    for (const record of this.#records.values()) {
      if (record.state !== 'draining' || nowMs < record.drainDeadlineMs) continue
      record.state = 'aborting'
      record.dirty = false
      const { held, releaseReason } = record
      this.#effects.push({ kind: 'abortPump', held, reason: closeReasonOf(releaseReason) })
    }
  }

  /** When `abortOverdue` has something to do next. */
  nextDrainDeadlineMs(): number {
    let next = Infinity
    for (const { state, drainDeadlineMs } of this.#records.values()) {
      if (state === 'draining') next = Math.min(next, drainDeadlineMs)
    }
    return next
  }

  /** The lease is somebody else's, or may be: nothing more is stored for it. */
  lose(leaseId: string, cause: LostCause): void {
    const record = this.#records.get(leaseId)
    if (record === undefined) return
    this.#records.delete(leaseId)
    const { held, state, releaseReason } = record
    if (state === 'releasing' && cause === 'takenOver') {
      // Given back already: the answer to a release that was repeated says the same.
      this.#released(held, releaseReason)
      return
    }
    if (this.#pumps.get(leaseId)?.epoch === held.epoch) {
      this.#effects.push({ kind: 'abortPump', held, reason: 'leaseLost' })
    }
    this.#effects.push({ kind: 'emit', notice: { kind: 'lost', held, cause } })
  }

  loseAll(cause: LostCause): void {
    for (const leaseId of this.#records.keys()) this.lose(leaseId, cause)
  }

  /** Compares with what the store said to a read that was sent as call `readCallId`. */
  loseThoseNotIn(
    owned: ReadonlyMap<string, { readonly epoch: number; readonly mine: boolean }>,
    readCallId: number,
  ): void {
    for (const { held, sinceCallId, state } of this.#records.values()) {
      if (sinceCallId >= readCallId || state === 'releasing') continue
      const stored = owned.get(held.leaseId)
      if (stored?.mine !== true || stored.epoch !== held.epoch) this.lose(held.leaseId, 'takenOver')
    }
  }

  progress({ leaseId, epoch }: HeldLease, checkpoint: Checkpoint): void {
    const record = this.#records.get(leaseId)
    if (record?.held.epoch !== epoch) return
    if (record.state !== 'running' && record.state !== 'draining') return
    if (checkpoint.lsn < record.wanted.lsn) return
    record.wanted = checkpoint
    record.dirty = true
  }

  pumpClosed(
    held: HeldLease,
    { checkpoint, reason }: { checkpoint: Checkpoint | undefined; reason: CloseReason },
    generation: string,
  ): void {
    const { leaseId, epoch } = held
    if (this.#pumps.get(leaseId)?.epoch === epoch) this.#pumps.delete(leaseId)
    const record = this.#records.get(leaseId)
    if (record === undefined) return
    if (record.held.epoch !== epoch) {
      this.#startPump(record, generation)
      return
    }
    if (record.state === 'running' && reason === 'rangeGone') {
      // Its last position is stored like any other; LE-10 replaces the lease.
      if (checkpoint !== undefined) this.progress(held, checkpoint)
      record.state = 'rangeGone'
      return
    }
    record.final = record.state === 'aborting' ? undefined : checkpoint
    record.state = 'releasing'
  }

  checkpointsDue(): readonly CheckpointRequest[] {
    const due: CheckpointRequest[] = []
    for (const { dirty, held, state, wanted } of this.#records.values()) {
      if (dirty && state !== 'aborting' && state !== 'releasing') {
        due.push({ ...held, checkpoint: wanted })
      }
    }
    return due
  }

  get hasCheckpointsDue(): boolean {
    for (const { dirty, state } of this.#records.values()) {
      if (dirty && state !== 'aborting' && state !== 'releasing') return true
    }
    return false
  }

  checkpointed(
    requests: readonly CheckpointRequest[],
    outcomes: readonly CheckpointOutcome[],
  ): void {
    for (const [index, { leaseId, epoch, checkpoint }] of requests.entries()) {
      const record = this.#records.get(leaseId)
      if (record?.held.epoch !== epoch) continue
      if (outcomes[index] === 'lost') {
        if (record.state !== 'releasing') this.lose(leaseId, 'checkpointRefused')
        continue
      }
      // `regress` of the owner: a call that timed out arrived after all, or an operator moved it on.
      if (record.wanted.lsn <= checkpoint.lsn) record.dirty = false
      if (checkpoint.lsn >= record.stored.lsn) record.stored = checkpoint
      this.#effects.push({ kind: 'checkpointed', held: record.held, checkpoint })
    }
  }

  releasesDue(): readonly ReleaseRequest[] {
    const due: ReleaseRequest[] = []
    for (const { state, held, final } of this.#records.values()) {
      if (state !== 'releasing') continue
      due.push(final === undefined ? held : { ...held, checkpoint: final })
    }
    return due
  }

  /** Whatever the outcome: released, or somebody else's already. */
  released(requests: readonly ReleaseRequest[]): void {
    for (const { leaseId, epoch } of requests) {
      const record = this.#records.get(leaseId)
      if (record?.held.epoch !== epoch) continue
      this.#records.delete(leaseId)
      this.#released(record.held, record.releaseReason)
    }
  }

  digest(): HeldDigest {
    let epochSum = 0
    let lsnSum = 0
    for (const { held, stored } of this.#records.values()) {
      epochSum = (epochSum + (held.epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
      lsnSum = (lsnSum + (stored.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
    }
    return { count: this.#records.size, epochSum, lsnSum }
  }

  held(): readonly (HeldLease & { readonly lsn: number })[] {
    return [...this.#records.values()].map(({ held, stored }) => ({ ...held, lsn: stored.lsn }))
  }

  /** The store fell behind what it had acknowledged: it gets the position again. */
  reassert(leaseId: string): void {
    const record = this.#records.get(leaseId)
    if (record !== undefined) record.dirty = true
  }

  #startPump(record: HeldRecord, generation: string): void {
    const { held, lease, state } = record
    if (state !== 'waiting' || this.#pumps.has(held.leaseId)) return
    record.state = 'running'
    this.#pumps.set(held.leaseId, held)
    this.#effects.push({ kind: 'startPump', held, lease, generation })
  }

  #released(held: HeldLease, reason: ReleaseReason): void {
    this.#effects.push({ kind: 'emit', notice: { kind: 'released', held, reason } })
  }
}

function closeReasonOf(reason: ReleaseReason): CloseReason {
  return reason === 'shutdown' ? 'shutdown' : 'leaseHandedOver'
}
