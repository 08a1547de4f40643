import assert from 'node:assert/strict'
import type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  CommitRequest,
  UniqueBreach,
  UniquePlan,
} from '@tidemark/store/engine'
import { integerArray, textArray } from '../connection/binary-array.ts'
import {
  booleanColumn,
  booleanList,
  numberColumn,
  numberList,
  textColumn,
} from '../connection/columns.ts'
import type { SqlRow, SqlValue } from '../connection/sql.ts'
import type { TouchedRange } from '../wakeup/touched-range.ts'
import { breachOf, entryValues } from './entry-values.ts'

/** A commit, with the segment and pkrange of each of its batches, from the cache. */
export interface PlacedCommit {
  readonly request: CommitRequest
  readonly places: readonly BatchPlace[]
  /** Of the request; undefined in collections without unique keys. */
  readonly unique: UniquePlan | undefined
}

export interface BatchPlace {
  readonly segment: number
  readonly range: number
}

export const COMMIT = `SELECT moved, time_ms, faults, fault_lsns, lsns, existed, on_timeline FROM :schema.commit_group(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`

/** Values of COMMIT; see `COMMIT_GROUP`. */
export function groupValues(
  commits: readonly PlacedCommit[],
  store: {
    readonly database: number
    readonly atLeastMs: number
    readonly isOwnClock: boolean
    readonly isSynced: boolean
  },
): readonly SqlValue[] {
  const columns = new GroupColumns()
  for (const [index, commit] of commits.entries()) columns.add(commit, index + 1)
  const entries = entryValues(commits.map(({ unique }) => unique))
  const { database, atLeastMs, isOwnClock, isSynced } = store
  return [database, atLeastMs, isOwnClock, isSynced, ...columns.values(), entries]
}

/** The outcome of each commit of a group; undefined when nothing was done because a segment is closed. */
export function groupOutcomes(
  row: SqlRow,
  commits: readonly PlacedCommit[],
): readonly GroupOutcome[] | undefined {
  if (booleanColumn(row, 0)) return undefined
  const timeMs = numberColumn(row, 1)
  const faults = numberList(textColumn(row, 2))
  const faultLsns = numberList(textColumn(row, 3))
  const lsns = numberList(textColumn(row, 4))
  const existed = booleanList(textColumn(row, 5))
  let next = 0
  return commits.map((commit) => {
    const batches: { lsn: number; existed: readonly boolean[] }[] = []
    const touched: TouchedRange[] = []
    let failure: CommitOutcome | undefined
    // The same for each of its operations, and weaker than any fault of one of them.
    let breach: UniqueBreach | undefined
    for (const [batchIndex, batch] of commit.request.batches.entries()) {
      const first = next
      next += Math.max(1, batch.operations.length)
      const lsn = lsns[first] ?? 0
      batches.push({ lsn, existed: batch.operations.map((_, i) => existed[first + i] === true) })
      failure ??= failureOf({ faults, faultLsns, first, batchIndex, batch })
      const broken = faults.indexOf(NOT_UNIQUE, first)
      if (broken !== -1 && broken < next) breach = breachOf(commit.unique, faultLsns[broken] ?? 0)
      const place = commit.places[batchIndex]
      assert(place !== undefined, 'each batch has a place')
      touched.push({ collection: batch.collection, range: place.range, lsn })
    }
    if (breach !== undefined) failure ??= { kind: 'notUnique', ...breach }
    return failure === undefined
      ? { outcome: { kind: 'committed', timeMs, batches }, touched }
      : { outcome: failure, touched: [] }
  })
}

/** The server's timeline in which a group was committed. */
export function groupTimeline(row: SqlRow): number {
  return numberColumn(row, 6)
}

export interface GroupOutcome {
  readonly outcome: CommitOutcome
  readonly touched: readonly TouchedRange[]
}

const REFUSED = 1
const INVALID_TTL = 2
const FENCED = 3
const NOT_UNIQUE = 4

/** The first fault of a batch, in the form that the caller gets. */
function failureOf({
  faults,
  faultLsns,
  first,
  batchIndex,
  batch,
}: {
  readonly faults: readonly (number | null)[]
  readonly faultLsns: readonly (number | null)[]
  readonly first: number
  readonly batchIndex: number
  readonly batch: CommitBatch
}): CommitOutcome | undefined {
  for (let operationIndex = 0; operationIndex < Math.max(1, batch.operations.length);) {
    const at = first + operationIndex
    const presentLsn = faultLsns[at] ?? undefined
    if (faults[at] === REFUSED) return { kind: 'refused', batchIndex, operationIndex, presentLsn }
    if (faults[at] === INVALID_TTL) return { kind: 'invalidTtl', batchIndex, operationIndex }
    if (faults[at] === FENCED) return { kind: 'fenced', currentEpoch: presentLsn ?? 0 }
    operationIndex++
  }
  return undefined
}

const KINDS = { put: 0, delete: 1, check: 2 } as const
const CONDITIONS = { none: 0, absent: 1, present: 2, lsn: 3, notLsn: 4 } as const
/** For a batch without operations, which only asks for the place of its range. */
const NO_OPERATION: CommitOperation = { kind: 'check', id: '', condition: { kind: 'none' } }

/** One list for each parameter of `commit_group`, filled operation by operation. */
class GroupColumns {
  readonly #jobs: (string | null)[] = []
  readonly #mins: (string | null)[] = []
  readonly #maxs: (string | null)[] = []
  readonly #epochs: (number | null)[] = []
  readonly #requests: number[] = []
  readonly #batches: number[] = []
  readonly #segments: number[] = []
  readonly #collections: number[] = []
  readonly #epks: string[] = []
  readonly #partitionKeys: string[] = []
  readonly #ids: string[] = []
  readonly #kinds: number[] = []
  readonly #conditions: number[] = []
  readonly #conditionLsns: (number | null)[] = []
  readonly #ttls: (number | null)[] = []
  readonly #untils: (number | null)[] = []
  readonly #rids: (string | null)[] = []
  readonly #bodies: (string | null)[] = []
  #batch = 0

  add({ request: { batches, fence }, places }: PlacedCommit, number: number): void {
    this.#jobs.push(fence?.job ?? null)
    this.#mins.push(fence?.range.minInclusive ?? null)
    this.#maxs.push(fence?.range.maxExclusive ?? null)
    this.#epochs.push(fence?.epoch ?? null)
    for (const [index, batch] of batches.entries()) {
      this.#batch++
      const segment = places[index]?.segment
      assert(segment !== undefined, 'each batch has a place')
      const operations = batch.operations.length === 0 ? [NO_OPERATION] : batch.operations
      for (const operation of operations) {
        this.#requests.push(number)
        this.#batches.push(this.#batch)
        this.#segments.push(segment)
        this.#collections.push(batch.collection)
        this.#epks.push(batch.epk)
        this.#partitionKeys.push(batch.partitionKey)
        this.#addOperation(operation)
      }
    }
  }

  values(): readonly SqlValue[] {
    return [
      textArray(this.#jobs),
      textArray(this.#mins),
      textArray(this.#maxs),
      integerArray(this.#epochs),
      integerArray(this.#requests),
      integerArray(this.#batches),
      integerArray(this.#segments),
      integerArray(this.#collections),
      textArray(this.#epks),
      textArray(this.#partitionKeys),
      textArray(this.#ids),
      integerArray(this.#kinds),
      integerArray(this.#conditions),
      integerArray(this.#conditionLsns),
      integerArray(this.#ttls),
      integerArray(this.#untils),
      textArray(this.#rids),
      textArray(this.#bodies),
    ]
  }

  #addOperation(operation: CommitOperation): void {
    const { kind, id, condition } = operation
    this.#ids.push(id)
    this.#kinds.push(KINDS[kind])
    this.#conditions.push(CONDITIONS[condition.kind])
    this.#conditionLsns.push('lsn' in condition ? condition.lsn : null)
    const put = kind === 'put' ? operation : undefined
    this.#ttls.push(put === undefined ? 0 : put.ttl === 'invalid' ? null : put.ttl)
    this.#untils.push(put?.expirySecond ?? null)
    this.#rids.push(put?.rid ?? null)
    this.#bodies.push(put?.body ?? null)
  }
}
