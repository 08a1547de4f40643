import {
  FULL_RANGE,
  commonKeys,
  effectivePartitionKey,
  partitionKeyDefinition,
  rangeContainsEpk,
} from '@tidemark/contracts'
import type { FeedRange } from '@tidemark/contracts'
import { expectThat } from './difference.ts'
import {
  isValidTtl,
  keyOf,
  type HistoryEntry,
  type Loss,
  type ModelRange,
  type PendingDelete,
  type StoredDocument,
  type Version,
} from './model-records.ts'
import { PARTITION_KEYS, type ProgramSettings, type VersionSettings } from './program.ts'

const DEFINITION = partitionKeyDefinition('/pk')
const EPKS: ReadonlyMap<string, string> = new Map(
  PARTITION_KEYS.map((pk) => [pk, effectivePartitionKey([pk], DEFINITION)]),
)

/** @throws RangeError for a value that no program has */
export function epkOf(pk: string): string {
  const epk = EPKS.get(pk)
  if (epk === undefined) throw new RangeError(`no partition key value of the model: ${pk}`)
  return epk
}

/** What a put writes. */
export interface WrittenDocument {
  readonly pk: string
  readonly id: string
  readonly n: number
  readonly ttl: unknown
  readonly u: string
}

/** A write to one document; `u` is undefined when it deletes. */
export interface UniqueWrite {
  readonly pk: string
  readonly id: string
  readonly u: string | undefined
}

/** When and by which step something was written. */
export interface CommitMoment {
  readonly lsn: number | undefined
  readonly timeMs: number
  readonly commit: number
}

/**
 * What a collection must hold: too simple to be fast, and written without the engines' code. It says
 * neither which LSNs there are nor which expired documents a sweep takes first: those it is told, and
 * judges.
 */
export class Model {
  readonly documents = new Map<string, StoredDocument>()
  /** By the number of the version that expired. */
  readonly pending = new Map<number, PendingDelete>()
  /** All changes of each document, oldest first. */
  readonly history = new Map<string, HistoryEntry[]>()
  readonly losses: Loss[] = []
  /** Of documents that were deleted by request: the last step that did so. */
  readonly deletedBy = new Map<string, number>()
  readonly reports: { group: string; range: FeedRange; lsn: number }[] = []
  readonly waitFor = new Set<string>()
  readonly rangeIds = new Set<string>()
  #ranges: readonly ModelRange[] = []
  defaultTtl: number | null
  retentionSeconds: number
  allVersions: VersionSettings | null
  readonly #hasUniqueKey: boolean
  /** The store's clock, epoch ms: never goes back. */
  nowMs = 0
  /** The machine's clock. */
  wallMs = 0

  constructor({ defaultTtl, retentionSeconds, allVersions, hasUniqueKey }: ProgramSettings) {
    this.#hasUniqueKey = hasUniqueKey === true
    this.defaultTtl = defaultTtl
    this.retentionSeconds = retentionSeconds
    this.allVersions = allVersions
  }

  /** Ahead: time passes, also for the store's clock. Back: the machine's clock is set, and the store's goes on, or waits for a second. */
  stepTo(wallMs: number): void {
    const isWaiting = this.nowMs - Math.min(wallMs, this.wallMs) <= 1_000
    const passedMs = isWaiting ? 0 : Math.max(0, wallMs - this.wallMs)
    this.nowMs = Math.max(this.nowMs + passedMs, wallMs)
    this.wallMs = wallMs
  }

  /** The second at which a document expires under the present value of `defaultTtl` (TTL-3). */
  expirySecond({ ts, ttl }: Version): number | undefined {
    if (this.defaultTtl === null) return undefined
    const inForce = isValidTtl(ttl) ? ttl : this.defaultTtl
    return inForce === -1 ? undefined : ts + inForce
  }

  /** The second at which a document has expired by now (TTL-4, TTL-18). */
  expiredSecond({ version, expiredBefore }: StoredDocument): number | undefined {
    const second = this.expirySecond(version)
    const isDue = second !== undefined && second * 1000 <= this.nowMs
    if (!isDue) return expiredBefore
    return expiredBefore === undefined ? second : Math.min(second, expiredBefore)
  }

  live(key: string): Version | undefined {
    const document = this.documents.get(key)
    if (document === undefined || this.expiredSecond(document) !== undefined) return undefined
    return document.version
  }

  liveVersions(): readonly Version[] {
    return [...this.documents.keys()].flatMap((key) => this.live(key) ?? [])
  }

  /** The first write that gives a document the value of another live one of its partition key value. */
  uniqueBreach(writes: readonly UniqueWrite[]): number | undefined {
    if (!this.#hasUniqueKey) return undefined
    const held = new Map(this.liveVersions().map(({ key, pk, u }) => [key, `${pk}/${u}`]))
    for (const [index, { pk, id, u }] of writes.entries()) {
      held.delete(keyOf({ pk, id }))
      if (u === undefined) continue
      const value = `${pk}/${u}`
      if ([...held.values()].includes(value)) return index
      held.set(keyOf({ pk, id }), value)
    }
    return undefined
  }

  unswept(): readonly StoredDocument[] {
    return [...this.documents.values()].filter((each) => this.expiredSecond(each) !== undefined)
  }

  /** Writes a document; one that has expired there is a pending delete before that (TTL-16). */
  put(
    { pk, id, n, ttl, u }: WrittenDocument,
    moment: CommitMoment & { readonly lsn: number },
  ): void {
    const key = keyOf({ pk, id })
    const before = this.documents.get(key)
    if (before !== undefined && this.expiredSecond(before) !== undefined) {
      this.expire(before, { ...moment, lsn: undefined })
    }
    const { lsn, timeMs, commit } = moment
    const present = this.documents.get(key)?.version
    const ts = Math.floor(timeMs / 1000)
    const version: Version = { n, key, pk, id, epk: epkOf(pk), ttl, u, ts, lsn, commit }
    this.documents.set(key, { version, expiredBefore: undefined })
    this.#record(version, present ? 'replace' : 'create', { current: version, present, moment })
  }

  remove(key: string, moment: CommitMoment): void {
    const present = this.live(key)
    if (present === undefined) return
    this.documents.delete(key)
    this.deletedBy.set(key, moment.commit)
    this.#record(present, 'delete', { current: undefined, present, moment })
  }

  /** Makes a pending delete of a document that has expired. */
  expire(document: StoredDocument, moment: CommitMoment): void {
    const { version } = document
    const expiredAt = this.expiredSecond(document)
    expectThat(expiredAt !== undefined, () => `${version.key} #${version.n} has not expired`)
    const { timeMs, commit, lsn } = moment
    const ts = Math.floor(timeMs / 1000)
    this.documents.delete(version.key)
    this.pending.set(version.n, { version, expiredAt: expiredAt ?? 0, ts, commit, lsn })
    this.#record(version, 'expire', { current: undefined, present: version, moment })
  }

  /** What expired under the value in force stays expired (TTL-18). */
  setDefaultTtl(value: number | null): void {
    for (const document of this.documents.values()) {
      document.expiredBefore = this.expiredSecond(document)
    }
    this.defaultTtl = value
  }

  /**
   * A pending delete is gone for ever. The horizon rises for the keys of its pkrange that no group waited for tells
   * apart: what one group has passed in one part says nothing of another part.
   */
  losePending({ version: { epk }, lsn = Infinity }: PendingDelete): void {
    let range: FeedRange = this.rangeOf(epk)
    for (const group of this.waitFor)
      range = commonKeys(range, this.#partAround(group, epk)) ?? range
    this.#lose({ mode: 'latestVersion', range, lsn })
  }

  /** An entry of the log is gone for ever. */
  loseEntry({ epk, lsn = Infinity }: HistoryEntry): void {
    this.#lose({ mode: 'allVersions', range: this.rangeOf(epk), lsn })
  }

  /** The log of a pkrange starts over above this LSN. */
  beginLog(range: FeedRange, lsn: number): void {
    this.#lose({ mode: 'allVersions', range, lsn })
  }

  #lose({ mode, range, lsn }: Omit<Loss, 'at'>): void {
    const { minInclusive, maxExclusive } = range
    const at = this.losses.length + 1
    this.losses.push({ mode, range: { minInclusive, maxExclusive }, lsn, at })
  }

  /** The keys around one for which a group has said the same: of its last report there, what later ones left. */
  #partAround(group: string, epk: string): FeedRange {
    const reports = this.reports.filter((each) => each.group === group)
    const index = reports.findLastIndex(({ range }) => rangeContainsEpk(range, epk))
    let { minInclusive, maxExclusive } = reports[index]?.range ?? FULL_RANGE
    if (index < 0) return { minInclusive, maxExclusive }
    for (const { range } of reports.slice(index + 1)) {
      if (range.minInclusive > epk && range.minInclusive < maxExclusive) {
        maxExclusive = range.minInclusive
      }
      if (range.maxExclusive <= epk && range.maxExclusive > minInclusive) {
        minInclusive = range.maxExclusive
      }
    }
    return { minInclusive, maxExclusive }
  }

  get ranges(): readonly ModelRange[] {
    return this.#ranges
  }

  set ranges(ranges: readonly ModelRange[]) {
    this.#ranges = ranges
  }

  /** Whether a pending delete may be purged now (TTL-14). */
  mayPurge({ ts, lsn, version }: PendingDelete): boolean {
    if ((ts + this.retentionSeconds) * 1000 > this.nowMs) return false
    return [...this.waitFor].every(
      (group) => lsn !== undefined && this.positionAt(group, version.epk) >= lsn,
    )
  }

  /** How far a group has come at a key: its last report counts. */
  positionAt(group: string, epk: string): number {
    const report = this.reports.findLast(
      (each) => each.group === group && rangeContainsEpk(each.range, epk),
    )
    return report?.lsn ?? 0
  }

  mayTrim({ commitMs }: HistoryEntry): boolean {
    if (this.allVersions === null) return true
    return commitMs + this.allVersions.retentionSeconds * 1000 <= this.nowMs
  }

  logged(): readonly HistoryEntry[] {
    return [...this.history.values()].flat().filter(({ isLogged }) => isLogged)
  }

  rangeOf(epk: string): ModelRange {
    const range = this.ranges.find((each) => rangeContainsEpk(each, epk))
    if (range === undefined) throw new RangeError(`no range holds ${epk}`)
    return range
  }

  /** LSNs of a pkrange only rise (ST-5), also over splits and merges. */
  noteCommit(...commits: readonly { readonly epk: string; readonly lsn: number }[]): void {
    for (const { epk, lsn } of commits) {
      const { newestLsn, id } = this.rangeOf(epk)
      expectThat(lsn > newestLsn, () => `LSN ${lsn} in range ${id}, where ${newestLsn} was before`)
    }
    for (const { epk, lsn } of commits) this.noteLsn(epk, lsn)
  }

  noteLsn(epk: string, lsn: number): void {
    const range = this.rangeOf(epk)
    range.newestLsn = Math.max(range.newestLsn, lsn)
  }

  /** The instants at which what is there now expires, epoch ms. */
  nextExpiryMs(): number | undefined {
    const times = this.liveVersions().flatMap((version) => this.expirySecond(version) ?? [])
    return times.length === 0 ? undefined : Math.min(...times) * 1000
  }

  #record(
    of: Version,
    operation: HistoryEntry['operation'],
    {
      current,
      present,
      moment: { lsn, timeMs, commit },
    }: {
      readonly current: Version | undefined
      readonly present: Version | undefined
      readonly moment: CommitMoment
    },
  ): void {
    const { key, epk } = of
    const entries = this.history.get(key) ?? []
    this.history.set(key, entries)
    const previous = this.allVersions?.previousImages === true ? present : undefined
    const index = entries.length
    const isLogged = this.allVersions !== null
    const change = { key, epk, index, operation, of, current, previous, commitMs: timeMs, commit }
    entries.push({ ...change, lsn, isLogged })
  }
}
