import type { VersionChange } from '@tidemark/contracts'
import { keyOf, type FeatureDocument } from './feature-store.ts'
import type { PlannedOperation } from './feature-lane.ts'
import type { LaneStep } from './lane-history.ts'
import type { TtlTimeline } from './ttl-timeline.ts'

type LogEntry = VersionChange<FeatureDocument>

/** A document as it was last written. */
export interface LedgerDocument {
  readonly version: string
  readonly lsn: number
  readonly ts: number
  readonly ttl: number
}

/** A document that became a pending delete. */
export interface Expiry {
  readonly key: string
  readonly lsn: number
  readonly version: string
  /** Commit time of the pending delete, epoch ms. */
  readonly sweptMs: number
}

/**
 * What must be in the store: from what writers were told, and, of what depends on time, from the log of
 * all versions, each entry of which must be somebody's write or an expiry that was due.
 */
export class Ledger {
  readonly documents = new Map<string, LedgerDocument>()
  readonly expiries = new Map<string, Expiry>()
  readonly inDoubt = { applied: 0, notApplied: 0 }
  /** Writes that are not there. Emptied by whoever reports them. */
  lost: string[] = []
  /** Contradictions. Emptied by whoever reports them. */
  faults: string[] = []
  readonly #timeline: TtlTimeline
  /** The log since the last round, by key, as far as it is not explained yet. */
  #entries = new Map<string, LogEntry[]>()

  constructor(timeline: TtlTimeline) {
    this.#timeline = timeline
  }

  /** Explains the part of the log that came in since the last call by what the lanes did. */
  explain(log: readonly LogEntry[], histories: Iterable<readonly LaneStep[]>): void {
    this.#entries = byKey(log)
    for (const steps of histories) {
      const told = new Set(
        steps.flatMap(({ outcome }) => (outcome.kind === 'done' ? [outcome.lsn] : [])),
      )
      for (const step of steps) this.#explainStep(step, told)
    }
    for (const [key, entries] of this.#entries) {
      for (const entry of entries) {
        if (entry.timeToLiveExpired) this.#expire(key, entry)
        else this.faults.push(`${key}: nobody wrote the log's entry at LSN ${entry.lsn}`)
      }
    }
  }

  /** `told` are the LSNs that the step's lane was told of. */
  #explainStep({ lane, beganMs, operations, outcome }: LaneStep, told: ReadonlySet<number>): void {
    const there = outcome.kind === 'inDoubt' ? this.#isThere(lane, { operations, told }) : undefined
    if (outcome.kind === 'inDoubt') this.inDoubt[there === true ? 'applied' : 'notApplied'] += 1
    for (const operation of operations) {
      const key = keyOf({ lane, id: operation.id })
      if (outcome.kind === 'refused') {
        this.#refused(key, operation, { beganMs, ...outcome })
      } else if (outcome.kind === 'done') {
        this.#written(key, operation, outcome)
      } else if (there === true) this.#written(key, operation, undefined)
    }
  }

  /**
   * Whether what was on its way is in the log; half of a batch would be found missing by `#written`. A lane does one
   * thing after the other, so that it is the next entry of its key, and none that was told of something else.
   */
  #isThere(
    lane: string,
    {
      operations,
      told,
    }: { readonly operations: readonly PlannedOperation[]; readonly told: ReadonlySet<number> },
  ): boolean {
    return operations.some((operation) => {
      const entries = this.#entries.get(keyOf({ lane, id: operation.id })) ?? []
      const entry = entries.find(({ timeToLiveExpired }) => !timeToLiveExpired)
      if (entry === undefined || told.has(entry.lsn)) return false
      return operation.kind === 'delete'
        ? entry.operationType === 'delete'
        : entry.current?.version === operation.version
    })
  }

  #written(
    key: string,
    operation: PlannedOperation,
    told: { readonly lsn: number; readonly timeMs: number } | undefined,
  ): void {
    const entries = this.#entries.get(key) ?? []
    while (entries[0]?.timeToLiveExpired === true) this.#expire(key, entries.shift())
    const entry = entries.shift()
    const version = operation.kind === 'delete' ? undefined : operation.version
    if (entry === undefined || entry.current?.version !== version) {
      this.lost.push(`${key}: ${operation.kind} at LSN ${told?.lsn} is not in the log`)
      if (entry !== undefined) entries.unshift(entry)
      return
    }
    if (told !== undefined && (entry.lsn !== told.lsn || entry.crts !== told.timeMs)) {
      this.faults.push(`${key}: LSN ${told.lsn} was acknowledged, the log has ${entry.lsn}`)
    }
    this.#checkBefore(key, operation, entry)
    if (entry.current === undefined) this.documents.delete(key)
    else {
      const { _ts: ts, ttl = 0 } = entry.current
      this.documents.set(key, { version: entry.current.version, lsn: entry.lsn, ts, ttl })
    }
  }

  #checkBefore(key: string, { kind }: PlannedOperation, entry: LogEntry): void {
    const at = `${key} at LSN ${entry.lsn}`
    const before = this.documents.get(key)
    if (before !== undefined && before.lsn >= entry.lsn) {
      this.faults.push(`${at}: comes after LSN ${before.lsn}`)
    }
    if (entry.previous?.version !== before?.version) {
      this.faults.push(`${at}: previous is ${entry.previous?.version}, not ${before?.version}`)
    }
    const type = kind === 'delete' ? kind : before === undefined ? 'create' : 'replace'
    if (entry.operationType !== type) this.faults.push(`${at}: is ${entry.operationType}`)
    if (kind === 'create' && before !== undefined) this.faults.push(`${at}: created twice`)
    if (kind === 'replace' && before === undefined) this.faults.push(`${at}: replaced nothing`)
    if (before !== undefined && this.#timeline.judge(before, entry.crts) === 'expired') {
      this.faults.push(`${at}: ${entry.operationType} of an expired document, no pending delete`)
    }
  }

  #expire(key: string, entry: LogEntry | undefined): void {
    const before = this.documents.get(key)
    if (entry === undefined) return
    const at = `${key} at LSN ${entry.lsn}`
    if (before === undefined || entry.previous?.version !== before.version) {
      this.faults.push(`${at}: ${entry.previous?.version} expired, ${before?.version} was there`)
    } else if (before.lsn >= entry.lsn) {
      this.faults.push(`${at}: expired before its last change at LSN ${before.lsn}`)
    } else if (this.#timeline.judge(before, entry.crts) === 'live') {
      this.faults.push(`${at}: expired too early`)
    }
    const version = entry.previous?.version ?? ''
    this.expiries.set(expiryName({ key, lsn: entry.lsn }), {
      key,
      lsn: entry.lsn,
      version,
      sweptMs: entry.crts,
    })
    this.documents.delete(key)
  }

  #refused(
    key: string,
    { kind }: PlannedOperation,
    refusal: { readonly beganMs: number; readonly atMs: number; readonly code: string },
  ): void {
    const before = this.documents.get(key)
    const { code, beganMs, atMs } = refusal
    if (kind === 'create' && code === 'ERR_EXISTS') {
      if (before === undefined || this.#timeline.judge(before, beganMs) === 'expired') {
        this.faults.push(`${key}: create was refused although nothing was there`)
      }
    } else if ((kind === 'replace' || kind === 'delete') && code === 'ERR_NOT_FOUND') {
      if (before !== undefined && this.#timeline.judge(before, atMs) === 'live') {
        this.lost.push(`${key}: ${kind} found nothing, acknowledged was ${before.version}`)
      }
    } else this.faults.push(`${key}: ${kind} was refused with ${code}`)
  }
}

export function expiryName({ key, lsn }: Pick<Expiry, 'key' | 'lsn'>): string {
  return `${key}@${lsn}`
}

function byKey(log: readonly LogEntry[]): Map<string, LogEntry[]> {
  const entries = new Map<string, LogEntry[]>()
  for (const entry of log) {
    const image = entry.current ?? entry.previous
    const lane = image?.lane ?? String(entry.partitionKey)
    const key = keyOf({ lane, id: entry.id })
    entries.set(key, [...(entries.get(key) ?? []), entry])
  }
  return entries
}
