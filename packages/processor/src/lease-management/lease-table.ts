import {
  rangesOverlap,
  type AcquiredLease,
  type Checkpoint,
  type CheckpointOutcome,
  type CheckpointRequest,
  type FeedRange,
  type HeldDigest,
  type HeldLease,
  type Lease,
  type Lsn,
  type NewLease,
  type ReleaseRequest,
} from '@tidemark/contracts'
import { drainRecord } from './drain-record.ts'
import { endDue, nextDueMs } from './due-records.ts'
import {
  digestOf,
  isCheckpointDue,
  mayProgress,
  newHeldRecord,
  replacementOf,
  viewOf,
  type AddOptions,
  type HeldRecord,
  type HeldView,
  type Replacement,
} from './held-record.ts'
import type { EffectSink, LostCause, PumpReplacement, ReleaseReason } from './lease-protocol.ts'
import { OpenPumps } from './open-pumps.ts'
import type { PumpEnd } from './pump-seat.ts'
import { WorkedEpochs } from './worked-epochs.ts'

/** The leases that one incarnation of a host holds, and the pumps that are open for them. */
export class LeaseTable {
  readonly #effects: EffectSink
  readonly #records = new Map<string, HeldRecord>()
  readonly #pumps = new OpenPumps()
  readonly #worked = new WorkedEpochs()
  /**
   * Where leases stood that were lost since the last beat: if the store has lost its data since then, that is
   * why, and nobody knows it better.
   */
  #lost: HeldRecord[] = []
  /** Calls up to this one may have been answered before leases were replaced. */
  #replacedSince = -1

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
    return [...this.#records.values()].map(viewOf)
  }

  /**
   * Takes note of a lease that the store gave in the answer to call `answerTo`. `keep` false: it goes
   * back at once.
   */
  add({ leaseId, epoch, lease }: AcquiredLease, options: AddOptions): void {
    const { keep, generation, sinceCallId, answerTo } = options
    const before = this.#records.get(leaseId)
    if (before !== undefined && before.held.epoch >= epoch) return
    if (answerTo <= this.#replacedSince && this.#wasReplaced(lease, epoch)) return
    if (before?.state === 'replacing') this.#records.delete(leaseId)
    else if (before !== undefined) this.lose(leaseId, 'takenOver')
    const { checkpoint, range } = lease
    const isPast = this.#worked.isPast(range, epoch)
    if (isPast) this.#worked.givenBack(range, epoch)
    const isKept = keep && !isPast
    const held: HeldLease = { leaseId, epoch }
    const record = newHeldRecord(held, {
      lease,
      sinceCallId,
      state: isKept ? 'waiting' : 'releasing',
    })
    this.#records.set(leaseId, record)
    if (!isKept) return
    this.#effects.push({ kind: 'emit', notice: { kind: 'acquired', held, range, checkpoint } })
    this.#startPump(record, generation)
  }

  drain(leaseId: string, reason: ReleaseReason, deadlineMs: number): void {
    const record = this.#records.get(leaseId)
    if (record !== undefined) drainRecord(record, { reason, deadlineMs }, this.#effects)
  }

  drainAll(reason: ReleaseReason, deadlineMs: number): void {
    for (const leaseId of this.#records.keys()) this.drain(leaseId, reason, deadlineMs)
  }

  /** Aborts the pumps whose time to drain is over, and gives back what was fenced. */
  endDue(nowMs: number): void {
    endDue(this.#records.values(), nowMs, this.#effects)
  }

  /** When `endDue` has something to do next. */
  nextDueMs(): number {
    return nextDueMs(this.#records.values())
  }

  /** As `lose`, unless the lease is held at another epoch by now. */
  loseAt({ leaseId, epoch }: HeldLease, cause: LostCause): void {
    if (this.#records.get(leaseId)?.held.epoch === epoch) this.lose(leaseId, cause)
  }

  /** The lease is somebody else's, or may be: nothing more is stored for it. */
  lose(leaseId: string, cause: LostCause): void {
    const record = this.#records.get(leaseId)
    if (record === undefined) return
    // Whether it is gone because it was replaced is told by the answer.
    if (record.state === 'replacing' && cause === 'takenOver') return
    this.#records.delete(leaseId)
    const { held, state, releaseReason } = record
    if (state === 'releasing' && cause === 'takenOver') {
      // Given back already: the answer to a release that was repeated says the same.
      this.#released(held, releaseReason)
      return
    }
    if (this.#pumps.has(held)) {
      this.#effects.push({ kind: 'abortPump', held, reason: 'leaseLost' })
    }
    if (cause === 'fenced') this.#lost = []
    else this.#lost.push(record)
    this.#effects.push({ kind: 'emit', notice: { kind: 'lost', held, cause } })
  }

  /** Stored positions of the leases that are held, or were when the last beat succeeded. */
  stood(): readonly { readonly range: FeedRange; readonly lsn: Lsn }[] {
    return [...this.#lost, ...this.#records.values()].map(({ lease: { range }, stored }) => {
      return { range, lsn: stored.lsn }
    })
  }

  /** A beat has succeeded: what was lost before it, another one may own. */
  forgetLost(): void {
    this.#lost = []
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
    if (record?.held.epoch !== epoch || !mayProgress(record, this.#pumps)) return
    if (checkpoint.lsn < record.wanted.lsn) return
    record.wanted = checkpoint
    record.dirty = true
  }

  pumpClosed(
    held: HeldLease,
    { checkpoint, reason, replacement }: PumpEnd,
    generation: string,
  ): void {
    const { leaseId, epoch } = held
    this.#pumps.end(held)
    // Leases that replaced this one may have waited for it too.
    for (const waiting of this.#records.values()) this.#startPump(waiting, generation)
    const record = this.#records.get(leaseId)
    if (record?.held.epoch !== epoch) return
    if (record.state === 'replacing') {
      record.final = checkpoint
      return
    }
    const { cut } = record
    record.cut = undefined
    if (cut !== undefined && replacement === undefined && reason === 'rangeGone') {
      if (checkpoint !== undefined) this.progress(held, checkpoint)
      this.#replace(record, { cause: 'cut', ranges: cut })
      return
    }
    // Whatever else has come to the pump while it drained to be cut counts as if it had not.
    if (cut !== undefined) record.state = 'running'
    const isKept = replacement !== undefined || reason === 'rangeGone' || reason === 'fenced'
    if (record.state === 'running' && isKept) {
      if (checkpoint !== undefined) this.progress(held, checkpoint)
      if (replacement !== undefined) {
        this.#replace(record, replacement)
        return
      }
      record.state = reason === 'fenced' ? 'fenced' : 'rangeGone'
      return
    }
    if (reason === 'observerStuck') record.releaseReason = reason
    record.final = record.state === 'aborting' ? undefined : checkpoint
    record.state = 'releasing'
  }

  /** A sink refuses the epoch of this lease, which stands still until `begin` says, and is given back. */
  standStill({ leaseId, epoch }: HeldLease, begin: () => number): void {
    const record = this.#records.get(leaseId)
    if (record?.held.epoch !== epoch || record.state !== 'fenced') return
    record.releaseReason = 'fenced'
    record.dueMs = begin()
  }

  /**
   * A sink has seen this epoch, above the lease's own. A store that has forgotten its owner may be behind it for long, where
   * a clock that was ahead gave it. One that no clock of ours will reach counts for nothing: none could be above it.
   */
  sinkHasSeen({ leaseId, epoch }: HeldLease, seenEpoch: number): void {
    const record = this.#records.get(leaseId)
    if (record?.held.epoch !== epoch || !Number.isSafeInteger(2 * seenEpoch)) return
    record.seenEpoch = Math.max(record.seenEpoch ?? 0, seenEpoch)
  }

  /** Neighbouring leases become one: their idle pumps close, then `next` comes in their place. */
  join(members: readonly HeldLease[], next: NewLease): void {
    const records = members.map(({ leaseId }) => this.#records.get(leaseId))
    const isWhole = records.every(
      (record, index) => record?.state === 'running' && record.held.epoch === members[index]?.epoch,
    )
    if (!isWhole) return
    const replacement: Replacement = { cause: 'join', old: members, next: [next] }
    for (const record of records) {
      if (record === undefined) continue
      record.state = 'replacing'
      record.replacement = replacement
      this.#effects.push({ kind: 'drainPump', held: record.held, reason: 'rangeGone' })
    }
  }

  /**
   * Leases of `parts` are to come in the place of a lease, at the position where it stands when its pump has drained, or,
   * if that takes until the deadline, at the one that is stored. Does nothing if it is not worked on any more; whatever else
   * becomes of it before comes first.
   */
  cut({ leaseId, epoch }: HeldLease, parts: readonly FeedRange[], deadlineMs: number): void {
    const record = this.#records.get(leaseId)
    if (record?.state !== 'running' || record.held.epoch !== epoch) return
    record.state = 'draining'
    record.cut = parts
    record.dueMs = deadlineMs
    this.#effects.push({ kind: 'drainPump', held: record.held, reason: 'rangeGone' })
  }

  /** The first replacement of leases of which no pump is open. */
  replacementDue(): Replacement | undefined {
    for (const { replacement } of this.#records.values()) {
      if (replacement?.old.every((held) => !this.#pumps.has(held)) === true) return replacement
    }
    return undefined
  }

  /** The store has replaced `old` by `next`; `lastCallId` is the call sent last. */
  replaced(
    old: readonly HeldLease[],
    { next, lastCallId }: { next: readonly Lease[]; lastCallId: number },
  ): void {
    this.#replacedSince = lastCallId
    const cause = this.#dropReplaced(old)[0]?.replacement?.cause ?? 'split'
    this.#effects.push({ kind: 'emit', notice: { kind: 'replaced', cause, old, next } })
  }

  /** One of them at least is not this host's any more. Others may be: they are given back, at their last positions. */
  replacementRefused(old: readonly HeldLease[]): void {
    if (old.length > 1) {
      for (const record of this.#dropReplaced(old)) {
        this.#records.set(record.held.leaseId, {
          ...record,
          state: 'releasing',
          replacement: undefined,
        })
      }
      return
    }
    for (const { held } of this.#dropReplaced(old)) {
      this.#effects.push({ kind: 'emit', notice: { kind: 'lost', held, cause: 'takenOver' } })
    }
  }

  checkpointsDue(): readonly CheckpointRequest[] {
    const due: CheckpointRequest[] = []
    for (const record of this.#records.values()) {
      if (isCheckpointDue(record, this.#pumps))
        due.push({ ...record.held, checkpoint: record.wanted })
    }
    return due
  }

  get hasCheckpointsDue(): boolean {
    for (const record of this.#records.values())
      if (isCheckpointDue(record, this.#pumps)) return true
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
        // Of a lease that is replaced at this moment, the answer to that says more.
        const isBusy = record.state === 'replacing' && !this.#pumps.has(record.held)
        if (record.state !== 'releasing' && !isBusy) this.lose(leaseId, 'checkpointRefused')
        continue
      }
      if (outcomes[index] === 'stored') this.#stored(record, checkpoint)
      // `regress` of the owner: a call that timed out arrived after all, or an operator moved it on.
      // Of one LSN there may be several, which tell of ever more attempts.
      const isNewest = record.wanted === checkpoint || record.wanted.lsn < checkpoint.lsn
      if (isNewest) record.dirty = false
      if (checkpoint.lsn >= record.stored.lsn) record.stored = checkpoint
      this.#effects.push({ kind: 'checkpointed', held: record.held, checkpoint })
    }
  }

  releasesDue(): readonly ReleaseRequest[] {
    const due: ReleaseRequest[] = []
    for (const { state, held, final, seenEpoch } of this.#records.values()) {
      if (state !== 'releasing') continue
      due.push({
        ...held,
        ...(final === undefined ? {} : { checkpoint: final }),
        ...(seenEpoch === undefined ? {} : { aboveEpoch: seenEpoch }),
      })
    }
    return due
  }

  /** Whatever the outcome: released, or somebody else's already. */
  released(requests: readonly ReleaseRequest[], outcomes: readonly ('released' | 'lost')[]): void {
    for (const [index, { leaseId, epoch, checkpoint }] of requests.entries()) {
      const record = this.#records.get(leaseId)
      if (record?.held.epoch !== epoch) continue
      if (checkpoint !== undefined && outcomes[index] === 'released') {
        this.#stored(record, checkpoint)
      }
      this.#records.delete(leaseId)
      this.#released(record.held, record.releaseReason)
    }
  }

  digest(): HeldDigest {
    return digestOf(this.#records.values())
  }

  held(): readonly (HeldLease & { readonly lsn: number })[] {
    return [...this.#records.values()].map(({ held, stored }) => ({ ...held, lsn: stored.lsn }))
  }

  /** The store fell behind what it had acknowledged: it gets the position again. */
  reassert(leaseId: string): void {
    const record = this.#records.get(leaseId)
    if (record !== undefined) record.dirty = true
  }

  #replace(record: HeldRecord, replacement: PumpReplacement): void {
    record.state = 'replacing'
    record.replacement = replacementOf(record, replacement)
  }

  #startPump(record: HeldRecord, generation: string): void {
    const { held, lease, state } = record
    if (state !== 'waiting' || !this.#pumps.leaveFree(lease.range)) return
    record.state = 'running'
    this.#pumps.begin(held, lease.range)
    this.#worked.begun(lease.range, held.epoch)
    this.#effects.push({ kind: 'startPump', held, lease, generation })
  }

  /** Whether a late answer speaks of a lease in whose place there are others by now: their epochs are higher. */
  #wasReplaced({ range }: Lease, epoch: number): boolean {
    for (const { held, lease } of this.#records.values()) {
      if (held.epoch > epoch && rangesOverlap(lease.range, range)) return true
    }
    return false
  }

  #dropReplaced(old: readonly HeldLease[]): readonly HeldRecord[] {
    const dropped = old.flatMap(({ leaseId, epoch }) => {
      const record = this.#records.get(leaseId)
      return record?.held.epoch === epoch ? [record] : []
    })
    for (const { held } of dropped) this.#records.delete(held.leaseId)
    return dropped
  }

  #stored({ held, lease: { range } }: HeldRecord, { lsn }: Checkpoint): void {
    this.#effects.push({ kind: 'emit', notice: { kind: 'stored', held, range, lsn } })
  }

  #released(held: HeldLease, reason: ReleaseReason): void {
    this.#effects.push({ kind: 'emit', notice: { kind: 'released', held, reason } })
  }
}
