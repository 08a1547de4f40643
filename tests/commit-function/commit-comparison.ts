import { AssertionError, deepStrictEqual } from 'node:assert/strict'
import {
  effectivePartitionKey,
  errorCode,
  partitionKeyDefinition,
  partitionKeyText,
} from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import { openPostgresEngine } from '@tidemark/engine-postgres'
import type {
  CollectionDefinition,
  CollectionRecord,
  CommitBatch,
  CommitOperation,
  CommitRequest,
  DatabaseEngine,
  StorageEngine,
  UniqueStep,
} from '@tidemark/store/engine'
import { SteppedClock } from '@tidemark/testing'
import fc from 'fast-check'
import { Client } from 'pg'
import {
  commitSequence,
  FENCE_BOUNDS,
  JOBS,
  type BatchShape,
  type CollectionShape,
  type CommitSequence,
  type CommitShape,
  type OperationShape,
} from './commit-steps.ts'
import { epochIn, PlannedStore, type StoredState } from './planned-store.ts'
import { clearStoredState, readStoredState } from './stored-state.ts'

/** The part of a report of fast-check that a run is told by. */
export type ComparisonReport = fc.RunDetails<[CommitSequence]>

const START_MS = 1_800_000_000_000
const RANGES = 3
const partitionKey = partitionKeyDefinition('/pk')
/** What an outcome is when the engine has an error in its place. */
const REJECTED = 'rejected'

/**
 * The function `commit_group` of the engine on PostgreSQL beside `planCommit`: random sequences of commits, sent in
 * groups, at a time that steps. Every outcome is compared, and after each sequence all rows.
 */
export class CommitComparison implements AsyncDisposable {
  /** Commits so far that were compared. */
  calls = 0
  /** Statements for them, if each group went in one. */
  groups = 0
  sequences = 0
  /** How often each kind of outcome, of row and of log entry came. */
  readonly seen = new Map<string, number>()
  readonly #client: Client
  readonly #engine: StorageEngine
  readonly #time: SteppedClock

  private constructor(engine: StorageEngine, client: Client, time: SteppedClock) {
    this.#engine = engine
    this.#client = client
    this.#time = time
  }

  /** On an empty database. */
  static async open(url: string): Promise<CommitComparison> {
    const time = new SteppedClock(START_MS)
    const engine = await openPostgresEngine({ url, clock: time, storeTime: 'process' })
    const client = new Client(url)
    await client.connect()
    await client.query('SET search_path = tidemark')
    return new CommitComparison(engine, client, time)
  }

  /** Runs sequences until one differs; that one is then made as short as it gets, unless `shrink` is false. */
  run({
    seed,
    numRuns,
    path,
    shrink = true,
    examples = [],
  }: {
    readonly seed: number
    readonly numRuns: number
    /** Of a report: begins with the sequence that differed. */
    readonly path?: string | undefined
    readonly shrink?: boolean | undefined
    /** Run before the random ones. */
    readonly examples?: readonly CommitSequence[] | undefined
  }): Promise<ComparisonReport> {
    const property = fc.asyncProperty(commitSequence, (sequence) => this.#runSequence(sequence))
    const from = path === undefined ? {} : { path }
    const given = { examples: examples.map((each): [CommitSequence] => [each]) }
    return fc.check(property, { seed, numRuns, endOnFailure: !shrink, ...given, ...from })
  }

  /** Replaces a part of a function on the server. */
  async change(mutant: {
    readonly of: string
    readonly find: string
    readonly replace: string
  }): Promise<void> {
    const { of: name, find, replace } = mutant
    const { rows } = await this.#client.query<[string]>({
      text: 'SELECT pg_get_functiondef($1::regproc)',
      values: [name],
      rowMode: 'array',
    })
    const [text = ''] = rows[0] ?? []
    if (!text.includes(find)) throw new Error(`${name} has no ${find}`)
    await this.#client.query(text.replaceAll(find, () => replace))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#engine.close()
    await this.#client.end()
  }

  async #runSequence({ collections, steps }: CommitSequence): Promise<void> {
    this.sequences += 1
    const id = `db ${this.sequences}`
    await this.#engine.createDatabase(id)
    const database = await this.#engine.openDatabase(id)
    const run = new SequenceRun(database, this.#time)
    try {
      for (const [index, shape] of collections.entries()) await run.create(`c${index}`, shape)
      for (const step of steps) {
        switch (step.kind) {
          case 'commits':
            await run.commits(step.commits, this)
            break
          case 'pass':
            this.#time.step(step.ms)
            break
          case 'defaultTtl':
            await run.setDefaultTtl(step.collection, step.seconds)
            break
          case 'drop':
            await run.drop(step.collection)
        }
      }
      const stored = await readStoredState(this.#client, run.numbers)
      this.#countRows(stored)
      deepStrictEqual(comparable(stored), comparable(run.planned.state()))
    } finally {
      await clearStoredState(this.#client)
    }
  }

  /** One commit was compared. */
  compared(outcome: string): void {
    this.calls += 1
    this.#count(outcome)
  }

  #countRows({ documents, log }: StoredState): void {
    for (const { kind, made } of documents) {
      this.#count(kind === 0 ? 'live' : 'pending delete')
      if (made !== null) this.#count('made ttl')
    }
    for (const { op } of log) this.#count(`log ${op}`)
  }

  #count(kind: string): void {
    this.seen.set(kind, (this.seen.get(kind) ?? 0) + 1)
  }
}

/** What a run that is long enough has seen. */
export const SEEN_KINDS: readonly string[] = [
  'committed',
  'refused',
  'fenced',
  'invalidTtl',
  'notUnique',
  'collectionGone',
  'live',
  'pending delete',
  'made ttl',
  'log 0',
  'log 1',
  'log 2',
  'log 3',
]

/** A commit, and what it has in common with others. */
interface MadeCommit {
  readonly request: CommitRequest
  /** Of its documents, and of the entries that it gives them or takes away. */
  readonly keys: readonly string[]
  /** Commits with the same one go into one queue of the engine. Undefined: not in a group with others. */
  readonly queue: string | undefined
}

/** Whether the engine may put both into one call of the function, and a sequence of plans has the same result. */
function canShareCall(a: MadeCommit, b: MadeCommit): boolean {
  if (a.queue === undefined || a.queue !== b.queue) return false
  const [fence, other] = [a.request.fence, b.request.fence]
  if (fence !== undefined && fence.job === other?.job && fence.epoch !== other.epoch) return false
  return !a.keys.some((key) => b.keys.includes(key))
}

/** One database, on both sides. */
class SequenceRun {
  readonly planned = new PlannedStore()
  readonly numbers: number[] = []
  readonly #database: DatabaseEngine
  readonly #time: SteppedClock
  readonly #records: CollectionRecord[] = []
  #texts = 0

  constructor(database: DatabaseEngine, time: SteppedClock) {
    this.#database = database
    this.#time = time
  }

  async create(id: string, shape: CollectionShape): Promise<void> {
    const ranges = evenRanges(RANGES, partitionKey)
    const record = await this.#database.createCollection(id, definitionOf(shape), ranges)
    this.#records.push(record)
    this.numbers.push(record.number)
    // The engine knows the ranges from now on, so that no commit waits for them and loses its place.
    this.planned.add(record, await this.#database.listRanges(record))
  }

  async setDefaultTtl(index: number, defaultTtl: number | null): Promise<void> {
    const record = this.#recordOf(index)
    if (this.planned.segmentOf(record.number, '') === undefined) return
    const changed = await this.#database.updateCollection(record, { defaultTtl })
    await this.#database.listRanges(changed)
    this.#records[index] = changed
    this.planned.change(changed)
  }

  async drop(index: number): Promise<void> {
    const { id, number } = this.#recordOf(index)
    if (this.planned.segmentOf(number, '') === undefined) return
    await this.#database.deleteCollection(id)
    this.planned.drop(number)
  }

  async commits(shapes: readonly CommitShape[], comparison: CommitComparison): Promise<void> {
    for (let left = shapes; left.length > 0;) {
      const call: MadeCommit[] = []
      const later: CommitShape[] = []
      for (const shape of left) {
        // Made only now: conditions name LSNs that the call before may have changed.
        const made = this.#commitOf(shape)
        if (call.every((each) => canShareCall(each, made))) call.push(made)
        else later.push(shape)
      }
      await this.#compare(call, comparison)
      left = later
    }
  }

  /** Sends them together: a group of the engine, in this order. */
  async #compare(call: readonly MadeCommit[], comparison: CommitComparison): Promise<void> {
    comparison.groups += 1
    this.planned.timeMs = this.#time.wallMs()
    const answers = await Promise.all(
      call.map(({ request }) =>
        this.#database
          .commit(request)
          .catch((error: unknown) => ({ kind: REJECTED, code: errorCode(error), error })),
      ),
    )
    for (const [index, { request }] of call.entries()) {
      const answer = answers[index]
      const expected = this.planned.commit(request)
      comparison.compared(expected.kind)
      if (answer !== undefined && 'error' in answer) {
        throw new AssertionError({ message: String(answer.error), actual: answer, expected })
      }
      deepStrictEqual(answer, expected, undefined)
    }
  }

  #commitOf({ batches: shapes, fence: given }: CommitShape): MadeCommit {
    const made = shapes.map((shape) => this.#batchOf(shape))
    const fence = given && {
      job: given.job,
      range: { minInclusive: given.range[0], maxExclusive: given.range[1] },
      epoch: given.epoch,
    }
    const documents = made.flatMap(({ documents: keys }) => keys)
    const segments = new Set(made.map(({ segment }) => segment))
    const [only] = segments.size === 1 ? segments : ['several']
    const isAlone = new Set(documents).size < documents.length || segments.has(undefined)
    return {
      request: { batches: made.map(({ batch }) => batch), fence },
      keys: [...documents, ...made.flatMap(({ entries }) => entries)],
      queue: isAlone ? undefined : String(only),
    }
  }

  #batchOf({ collection: index, partitionKey: value, operations }: BatchShape): {
    readonly batch: CommitBatch
    readonly documents: readonly string[]
    readonly entries: readonly string[]
    readonly segment: number | undefined
  } {
    const { number: collection, definition } = this.#recordOf(index)
    const epk = effectivePartitionKey([value], partitionKey)
    const key = { collection, epk, partitionKey: partitionKeyText([value]) }
    const uniqueSteps = definition.uniqueKeys && stepsOf(operations)
    const scope = `${collection} ${value}`
    return {
      batch: {
        ...key,
        operations: operations.map((shape) => this.#operationOf(shape, key)),
        uniqueSteps,
      },
      documents: operations.map(({ id }) => `${scope} document ${id}`),
      entries: [
        ...(uniqueSteps ?? []).flatMap(({ entries }) => entries),
        ...operations.flatMap(({ id }) => this.planned.entriesOf(collection, key.partitionKey, id)),
      ].map((entry) => `${scope} entry ${entry}`),
      segment: this.planned.segmentOf(collection, epk),
    }
  }

  #operationOf(
    { kind, id, condition: { kind: wanted, isCurrent }, ttl, expiresIn }: OperationShape,
    key: Pick<CommitBatch, 'collection' | 'partitionKey'>,
  ): CommitOperation {
    const { lsn = 1 } = this.planned.document(key, id) ?? {}
    const condition = { kind: wanted, lsn: isCurrent ? lsn : lsn + 1 }
    if (kind !== 'put') return { kind, id, condition }
    const nowSecond = Math.floor(this.#time.wallMs() / 1000)
    const body = JSON.stringify({ id, text: ++this.#texts })
    const expirySecond = expiresIn === undefined ? undefined : nowSecond + expiresIn
    return { kind, id, condition, rid: `rid ${id}`, body, ttl, expirySecond }
  }

  #recordOf(index: number): CollectionRecord {
    const record = this.#records[index]
    if (record === undefined) throw new Error(`no collection ${index}`)
    return record
  }
}

function definitionOf({
  defaultTtl,
  previousImages,
  hasUniqueKeys,
}: CollectionShape): CollectionDefinition {
  return {
    partitionKey,
    defaultTtl,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
    allVersions: previousImages === null ? null : { retentionSeconds: 3600, previousImages },
    splitAboveBytes: null,
    ...(hasUniqueKeys && { uniqueKeys: [['/x'], ['/y']] }),
  }
}

function stepsOf(operations: readonly OperationShape[]): readonly UniqueStep[] {
  const writes = operations.filter(({ kind }) => kind !== 'check')
  const passing = writes.flatMap(({ id, passing: entries }) => entries && { id, entries })
  const last = writes.map(({ kind, id, entries }) => {
    return { id, entries: kind === 'put' ? entries : [] }
  })
  return [...passing.filter((step) => step !== undefined), ...last]
}

/** The state in one order, and fences by what they refuse. */
function comparable({ documents, log, entries, counters, fences }: StoredState): unknown {
  const intervals = FENCE_BOUNDS.slice(1).map((maxExclusive, index) => {
    return { minInclusive: FENCE_BOUNDS[index] ?? '', maxExclusive }
  })
  return {
    documents: inOrder(documents),
    log: inOrder(log),
    entries: inOrder(entries),
    counters: inOrder(counters),
    fences: JOBS.map((job) => intervals.map((range) => epochIn(fences, { job, range }))),
  }
}

function inOrder(rows: readonly object[]): readonly unknown[] {
  const text = (row: object): string =>
    JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return rows
    .map((row) => ({ row, text: text(row) }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row)
}
