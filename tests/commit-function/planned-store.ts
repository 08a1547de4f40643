import type { FeedRange } from '@tidemark/contracts'
import {
  planCommit,
  rangeOfEpk,
  withFence,
  type CollectionRecord,
  type CommitBatch,
  type CommitOutcome,
  type CommitPlace,
  type CommitRequest,
  type CommitView,
  type ExpiringRow,
  type FenceRecord,
  type PlannedBatch,
  type PlannedPut,
  type PresentDocument,
  type RangeRecord,
  type UniqueClaim,
  type UniquePlan,
  type UniqueScope,
  type WriteFence,
} from '@tidemark/store/engine'

/** A row of the table `doc`, by the names of its columns. */
export interface DocumentRow {
  readonly coll: number
  readonly segment: number
  readonly lsn: number
  readonly ord: number
  readonly kind: number
  readonly epk: string
  readonly pk: string
  readonly id: string
  readonly ts: number
  readonly ttl: number
  readonly exp: number
  readonly vlsn: number | null
  readonly vts: number | null
  readonly made: number | null
  readonly rid: string
  readonly body: string
}

/** A row of the table `log`. */
export interface LogRow extends Pick<
  DocumentRow,
  'coll' | 'segment' | 'lsn' | 'ord' | 'epk' | 'pk' | 'id' | 'made'
> {
  readonly at: number
  readonly op: number
  readonly rid: string | null
  readonly current: string | null
  readonly plsn: number | null
  readonly pts: number | null
  readonly pmade: number | null
  readonly previous: string | null
}

/** A row of the table `unique_entry`. */
export interface EntryRow {
  readonly coll: number
  readonly ukey: number
  readonly epk: string
  readonly pk: string
  readonly id: string
  readonly value: string
}

export interface StoredState {
  readonly documents: readonly DocumentRow[]
  readonly log: readonly LogRow[]
  readonly entries: readonly EntryRow[]
  /** Last LSN of each segment. */
  readonly counters: readonly { readonly segment: number; readonly lsn: number }[]
  readonly fences: readonly (FenceRecord & { readonly job: string })[]
}

interface Counter {
  readonly segment: number
  lsn: number
}

interface Place extends CommitPlace {
  readonly counter: Counter
}

/** A collection with its pkranges. */
interface PlannedCollection {
  record: CollectionRecord
  readonly ranges: readonly RangeRecord[]
}

type Planned = PlannedBatch<Place, DocumentRow>

/** The rows that a database has if each commit is carried out as `planCommit` says: plain, slow, in memory. */
export class PlannedStore implements CommitView<Place, DocumentRow> {
  timeMs = 0
  readonly #collections = new Map<number, PlannedCollection>()
  readonly #counters = new Map<number, Counter>()
  readonly #live = new Map<string, DocumentRow>()
  readonly #pending: DocumentRow[] = []
  readonly #log: LogRow[] = []
  #entries: readonly EntryRow[] = []
  readonly #fences = new Map<string, readonly FenceRecord[]>()

  add(record: CollectionRecord, ranges: readonly RangeRecord[]): void {
    this.#collections.set(record.number, { record, ranges })
    for (const { segment } of ranges) this.#counters.set(segment, { segment, lsn: 0 })
  }

  change(record: CollectionRecord): void {
    const collection = this.#collections.get(record.number)
    if (collection !== undefined) collection.record = record
  }

  drop(number: number): void {
    this.#collections.delete(number)
  }

  /** The segment that a key is written to; undefined when its collection is gone. */
  segmentOf(collection: number, epk: string): number | undefined {
    const ranges = this.#collections.get(collection)?.ranges
    return ranges && rangeOfEpk(ranges, epk).segment
  }

  entriesOf(collection: number, partitionKey: string, id: string): readonly string[] {
    return this.#entries
      .filter((row) => row.coll === collection && row.pk === partitionKey && row.id === id)
      .map(({ value }) => value)
  }

  commit(commit: CommitRequest): CommitOutcome {
    const { outcome, batches, unique } = planCommit(this, commit)
    if (outcome.kind !== 'committed') return outcome
    if (commit.fence !== undefined) this.#remember(commit.fence)
    for (const planned of batches) this.#write(planned)
    if (unique !== undefined) this.#keepEntries(unique)
    return outcome
  }

  state(): StoredState {
    const fences = [...this.#fences].flatMap(([job, records]) =>
      records.map((record) => ({ ...record, job })),
    )
    return {
      documents: [...this.#live.values(), ...this.#pending],
      log: this.#log,
      entries: this.#entries,
      counters: [...this.#counters.values()],
      fences,
    }
  }

  place({ collection, epk }: CommitBatch): Place | undefined {
    const found = this.#collections.get(collection)
    const counter = found && this.#counters.get(rangeOfEpk(found.ranges, epk).segment)
    return found && counter && { collection: found, counter }
  }

  document(
    { collection, partitionKey }: Pick<CommitBatch, 'collection' | 'partitionKey'>,
    id: string,
  ): DocumentRow | undefined {
    return this.#live.get(keyOf(collection, partitionKey, id))
  }

  fencesOf(job: string): readonly FenceRecord[] {
    return this.#fences.get(job) ?? []
  }

  holder({
    scope,
    keyIndex,
    entry,
  }: UniqueClaim): (ExpiringRow & { readonly id: string }) | undefined {
    const found = this.#entries.find(
      (row) => isIn(row, scope) && row.ukey === keyIndex && row.value === entry,
    )
    return found && this.document(scope, found.id)
  }

  #write({ batch, place, lsn, expiries, writes }: Planned): void {
    const { collection: coll, epk, partitionKey: pk, operations } = batch
    const { segment } = place.counter
    const second = Math.floor(this.timeMs / 1000)
    for (const { id, document, second: exp, lsn: expiryLsn } of expiries) {
      const to = { segment, lsn: expiryLsn, ord: 1 }
      this.#append(place, { ...to, coll, epk, pk, id, op: EXPIRE, before: document })
      const { lsn: vlsn, ts: vts } = document
      this.#pending.push({ ...document, ...to, kind: 1, ts: second, exp, vlsn, vts })
      this.#live.delete(keyOf(coll, pk, id))
    }
    const width = operations.filter(({ kind }) => kind !== 'check').length
    for (const write of writes) {
      const { id } = write.operation
      const key = { coll, segment, lsn, ord: write.taken - lsn + width, epk, pk, id }
      const before = this.#live.get(keyOf(coll, pk, id))
      const put = 'ts' in write ? write : undefined
      const op = put === undefined ? DELETE : before === undefined ? CREATE : REPLACE
      this.#append(place, { ...key, op, before, put })
      if (put === undefined) this.#live.delete(keyOf(coll, pk, id))
      else {
        const { ts, ttl, made, expirySecond: exp } = put
        const { rid, body } = put.operation
        const version = { ts, ttl, exp, vlsn: null, vts: null, made, rid, body }
        this.#live.set(keyOf(coll, pk, id), { ...key, kind: 0, ...version })
      }
    }
    place.counter.lsn = lsn
  }

  #append(
    { collection: { record } }: Place,
    {
      op,
      before,
      put,
      ...key
    }: Pick<LogRow, 'coll' | 'segment' | 'lsn' | 'ord' | 'epk' | 'pk' | 'id' | 'op'> & {
      readonly before: DocumentRow | undefined
      readonly put?: PlannedPut<PresentDocument> | undefined
    },
  ): void {
    const { allVersions } = record.definition
    if (allVersions === null) return
    this.#log.push({
      ...key,
      op,
      at: this.timeMs,
      rid: put?.operation.rid ?? before?.rid ?? null,
      made: put?.made ?? null,
      current: put?.operation.body ?? null,
      plsn: before?.lsn ?? null,
      pts: before?.ts ?? null,
      pmade: before?.made ?? null,
      previous: allVersions.previousImages ? (before?.body ?? null) : null,
    })
  }

  #keepEntries({ claims, holders }: UniquePlan): void {
    const isHeld = (row: EntryRow): boolean =>
      holders.some(({ scope, id }) => isIn(row, scope) && row.id === id) ||
      claims.some(
        ({ scope, keyIndex, entry }) =>
          isIn(row, scope) && row.ukey === keyIndex && row.value === entry,
      )
    const added = holders.flatMap(({ scope: { collection, epk, partitionKey }, id, entries }) =>
      entries.map((value, ukey) => ({ coll: collection, ukey, epk, pk: partitionKey, id, value })),
    )
    this.#entries = [...this.#entries.filter((row) => !isHeld(row)), ...added]
  }

  #remember(fence: WriteFence): void {
    this.#fences.set(fence.job, withFence(this.fencesOf(fence.job), fence))
  }
}

/** Column `op` of the log. */
const CREATE = 0
const REPLACE = 1
const DELETE = 2
const EXPIRE = 3

/** The highest epoch of any range of the job that overlaps this one. */
export function epochIn(
  fences: StoredState['fences'],
  { job, range }: { readonly job: string; readonly range: FeedRange },
): number {
  return fences
    .filter(
      (each) =>
        each.job === job &&
        each.range.minInclusive < range.maxExclusive &&
        each.range.maxExclusive > range.minInclusive,
    )
    .reduce((highest, { epoch }) => Math.max(highest, epoch), 0)
}

function keyOf(collection: number, partitionKey: string, id: string): string {
  return `${collection}\n${partitionKey}\n${id}`
}

function isIn(row: EntryRow, { collection, partitionKey }: UniqueScope): boolean {
  return row.coll === collection && row.pk === partitionKey
}
