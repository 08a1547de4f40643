import {
  FULL_RANGE,
  effectivePartitionKey,
  partitionKeyDefinition,
  partitionKeyText,
  type Clock,
  type FeedMode,
  type FeedRange,
} from '@tidemark/contracts'
import {
  evenRanges,
  LIVE_ROW,
  type FeedRow,
  type RowKind,
  DocumentStamp,
  feedVersion,
  type DocumentVersion,
} from '@tidemark/contracts/internal'
import type {
  CollectionDefinition,
  CollectionRecord,
  MaintenanceTask,
  StorageEngine,
} from '@tidemark/store'
import {
  rangeOfEpk,
  type CommitBatch,
  type CommitOperation,
  type CommitOutcome,
  type DatabaseEngine,
  type DefinitionChanges,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedCount,
  type FeedCountQuery,
  type FeedStart,
  type MaintenanceOutcome,
  type RangeCounter,
  type RangeRecord,
  type WriteCondition,
} from '@tidemark/store/engine'
import { expect } from 'vitest'
import { SteppedClock } from '../../stepped-clock.ts'

/** One engine, opened for one test on storage of its own. */
export interface StorageEngineUnderTest {
  readonly engine: StorageEngine
  /** Opens the same data again after `engine` was closed. Required iff `supports.durable`. */
  readonly reopen?: (() => Promise<StorageEngine>) | undefined
  /** Opens the same data beside `engine`, as another process would. Required iff `supports.processes` is `many`. */
  readonly openSecond?: (() => Promise<StorageEngine>) | undefined
  /** Closes what is open and removes the data. */
  dispose(): Promise<void>
}

export interface StorageEngineConformance {
  readonly name: string
  /**
   * Opens an engine on storage of its own. `clock` must be the clock of it and of all that `reopen` and
   * `openSecond` open: tests of expiry step it.
   */
  open(options: { readonly clock: Clock }): Promise<StorageEngineUnderTest>
  /**
   * `layout`: only what depends on how rows are laid out, for a further variant of an engine that passes everything.
   * @default 'everything'
   */
  readonly scope?: 'everything' | 'layout' | undefined
}

const partitionKey = partitionKeyDefinition('/pk')
export const DEFINITION: CollectionDefinition = {
  partitionKey,
  defaultTtl: null,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
  allVersions: null,
  splitAboveBytes: null,
}
/** Far more than any test writes: pages are limited by items. */
export const MANY_CHARS = 100_000_000
export const MANY_ITEMS = 1_000_000

/** How the collection of a fixture begins. */
export interface EngineSetup {
  /** @default 1 */
  readonly ranges?: number
  /** What differs from `DEFINITION`. */
  readonly definition?: Partial<CollectionDefinition>
}

/** A database and collection to write to, with the short forms that tests read well with. */
export class EngineFixture {
  readonly engine: StorageEngine
  readonly database: DatabaseEngine
  /** As it was when it was made: engines go by what is stored. */
  readonly collection: CollectionRecord

  constructor(engine: StorageEngine, database: DatabaseEngine, collection: CollectionRecord) {
    this.engine = engine
    this.database = database
    this.collection = collection
  }

  /** @param setup a number = so many ranges */
  static async make(
    engine: StorageEngine,
    setup: EngineSetup | number = {},
  ): Promise<EngineFixture> {
    const { ranges = 1, definition = {} } = typeof setup === 'number' ? { ranges: setup } : setup
    await engine.createDatabase('db')
    const database = await engine.openDatabase('db')
    const collection = await database.createCollection(
      'coll',
      { ...DEFINITION, ...definition },
      evenRanges(ranges, partitionKey),
    )
    return new EngineFixture(engine, database, collection)
  }

  /** The same collection through another engine over the same data. */
  async through(engine: StorageEngine): Promise<EngineFixture> {
    const database = await engine.openDatabase('db')
    const collection = await database.readCollection('coll')
    if (collection === undefined) throw new Error('the collection is not there')
    return new EngineFixture(engine, database, collection)
  }

  batch(pk: string, operations: readonly CommitOperation[]): CommitBatch {
    return { collection: this.collection.number, ...keyOf(pk), operations }
  }

  commit(...batches: readonly CommitBatch[]): Promise<CommitOutcome> {
    return this.database.commit({ batches })
  }

  /** Writes documents of one partition key value in one transaction and gives its LSN. */
  async write(pk: string, ...ids: readonly string[]): Promise<number> {
    return committed(
      await this.commit(
        this.batch(
          pk,
          ids.map((id) => put(id)),
        ),
      ),
    )
  }

  async read(pk: string, id: string): Promise<Record<string, unknown> | undefined> {
    const row = await this.database.readDocument({ collection: this.collection, ...keyOf(pk), id })
    return row && parsed(row)
  }

  page(
    afterLsn: number,
    {
      maxItems = MANY_ITEMS,
      maxChars = MANY_CHARS,
      range = FULL_RANGE,
    }: { maxItems?: number; maxChars?: number; range?: FeedRange } = {},
  ): Promise<EngineFeedPage> {
    return this.database.readFeedPage({
      collection: this.collection,
      range,
      afterLsn,
      maxItems,
      maxChars,
    })
  }

  /** Ids of live documents in feed order, page after page. */
  async feedIds(range: FeedRange = FULL_RANGE, maxItems = 7): Promise<readonly string[]> {
    const entries = await this.feed({ range, maxItems })
    return entries.filter(({ kind }) => kind === LIVE_ROW).map(({ id }) => id)
  }

  /** The feed from `afterLsn` to its end, page after page. */
  async feed({
    range = FULL_RANGE,
    maxItems = 7,
    afterLsn = 0,
  }: { range?: FeedRange; maxItems?: number; afterLsn?: number } = {}): Promise<
    readonly FeedEntry[]
  > {
    const entries: FeedEntry[] = []
    for (let position = afterLsn; ;) {
      const page = await this.page(position, { maxItems, range })
      entries.push(...page.rows.map(feedEntry))
      expect(page.lsn).toBeGreaterThanOrEqual(position)
      if (page.caughtUp) return entries
      expect(page.lsn).toBeGreaterThan(position)
      position = page.lsn
    }
  }

  versions(
    afterLsn: number,
    {
      maxItems = MANY_ITEMS,
      maxChars = MANY_CHARS,
      range = FULL_RANGE,
    }: { maxItems?: number; maxChars?: number; range?: FeedRange } = {},
  ): Promise<EngineVersionPage> {
    const { collection } = this
    return this.database.readVersionPage({ collection, range, afterLsn, maxItems, maxChars })
  }

  /** The log of all versions to its end, page after page, as `operation id`. */
  async log({
    range = FULL_RANGE,
    maxItems = 7,
    afterLsn = 0,
  }: { range?: FeedRange; maxItems?: number; afterLsn?: number } = {}): Promise<readonly string[]> {
    const entries: string[] = []
    for (let position = afterLsn; ;) {
      const page = await this.versions(position, { maxItems, range })
      entries.push(...page.rows.map(({ operation, id }) => `${operation} ${id}`))
      if (page.caughtUp) return entries
      expect(page.lsn).toBeGreaterThan(position)
      position = page.lsn
    }
  }

  counted(afterLsn: number, options: Partial<FeedCountQuery> = {}): Promise<FeedCount> {
    const defaults = { mode: 'latestVersion', pendingDeletes: true, maxItems: MANY_ITEMS } as const
    const { collection } = this
    return this.database.countFeed({
      ...defaults,
      collection,
      range: FULL_RANGE,
      afterLsn,
      ...options,
    })
  }

  start(
    start: FeedStart,
    { range = FULL_RANGE, mode = 'latestVersion' }: { range?: FeedRange; mode?: FeedMode } = {},
  ): Promise<RangeCounter> {
    return this.database.resolveStart({ collection: this.collection, range, start, mode })
  }

  update(changes: DefinitionChanges): Promise<CollectionRecord> {
    return this.database.updateCollection(this.collection, changes)
  }

  count(): Promise<number> {
    return this.database.countDocuments(this.collection)
  }

  ranges(): Promise<readonly RangeRecord[]> {
    return this.database.listRanges(this.collection)
  }

  /** Splits the present range that holds `at` there. */
  async split(at: string): Promise<readonly [RangeRecord, RangeRecord]> {
    const { number: range } = rangeOfEpk(await this.ranges(), at)
    return this.database.splitRange({ collection: this.collection, range, at })
  }

  /** Merges the two present ranges that meet at `at`. */
  async merge(at: string): Promise<RangeRecord> {
    const ranges = await this.ranges()
    const high = ranges.findIndex(({ minInclusive }) => minInclusive === at)
    const numbers = [ranges[high - 1]?.number ?? -1, ranges[high]?.number ?? -1] as const
    return this.database.mergeRanges({ collection: this.collection, ranges: numbers })
  }

  /** Background work of one kind until nothing is left of it now; gives the number of items. */
  async maintain(kind: MaintenanceTask['kind'], maxItems: number = MANY_ITEMS): Promise<number> {
    let items = 0
    for (let calls = 0; calls < 10_000; calls++) {
      const { tasks } = await this.database.readMaintenance()
      const task = tasks.find((each) => each.kind === kind)
      if (task === undefined) return items
      const outcome = await this.piece(task, maxItems)
      items += outcome.items
    }
    throw new Error(`${kind} never ends`)
  }

  /** One piece of background work. */
  async piece(
    task: MaintenanceTask,
    maxItems: number = MANY_ITEMS,
  ): Promise<Extract<MaintenanceOutcome, { kind: 'done' }>> {
    const outcome = await this.database.maintain({
      holder: 'test',
      leaseMs: 10_000,
      maxItems,
      task,
    })
    if (outcome.kind !== 'done') throw new Error(`held: ${JSON.stringify(outcome)}`)
    return outcome
  }

  wait(
    afterLsn: number,
    timeoutMs: number,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<boolean> {
    const { collection } = this
    return this.database.waitForCommit({
      collection,
      range: FULL_RANGE,
      afterLsn,
      timeoutMs,
      signal,
    })
  }

  /** Waits at a position in a part of the keys, longer than any test lasts. */
  waitIn(range: FeedRange, afterLsn: number): Promise<boolean> {
    const { collection } = this
    const { signal } = new AbortController()
    return this.database.waitForCommit({ collection, range, afterLsn, timeoutMs: 20_000, signal })
  }
}

/** Within its second, so that rounding shows. */
export const START_MS = 1_767_225_600_250
export const START_SECOND = 1_767_225_600

/** A fixture under a clock that the test steps. */
export async function fixtureWithClock(
  open: (clock: SteppedClock) => Promise<StorageEngine>,
  setup: EngineSetup = {},
): Promise<{ fixture: EngineFixture; clock: SteppedClock }> {
  const clock = new SteppedClock(START_MS)
  return { fixture: await EngineFixture.make(await open(clock), setup), clock }
}

/** EPK and canonical text of a partition key value. */
export function keyOf(pk: string): { readonly epk: string; readonly partitionKey: string } {
  return { epk: effectivePartitionKey([pk], partitionKey), partitionKey: partitionKeyText([pk]) }
}

interface PutOptions {
  readonly n?: number
  readonly condition?: WriteCondition
  readonly ttl?: number | 'invalid'
  readonly expirySecond?: number
}

/** A put of `{id, n}`, and of `ttl` where it is given. */
export function put(id: string, options: PutOptions = {}): CommitOperation {
  const { n = 0, condition = { kind: 'none' }, ttl = 0, expirySecond } = options
  const withTtl = ttl !== 0 && expirySecond === undefined
  const body = JSON.stringify(withTtl ? { id, n, ttl } : { id, n })
  return { kind: 'put', id, condition, rid: RID, body, ttl, expirySecond }
}

/** A feed row as tests look at it. */
export interface FeedEntry {
  readonly lsn: number
  readonly kind: RowKind
  readonly id: string
  readonly n: number
  readonly expirySecond: number
}

export function feedEntry(row: FeedRow): FeedEntry {
  const [lsn, kind, , expirySecond] = row
  const { id, n } = parsed(feedVersion(row))
  return { lsn, kind, id: String(id), n: Number(n), expirySecond }
}

export function del(id: string, condition: WriteCondition = { kind: 'none' }): CommitOperation {
  return { kind: 'delete', id, condition }
}

/** The LSN of a commit's last batch; fails the test if it was not committed. */
export function committed(outcome: CommitOutcome): number {
  if (outcome.kind !== 'committed') {
    throw new Error(`the commit was not made: ${JSON.stringify(outcome)}`)
  }
  return outcome.batches.at(-1)?.lsn ?? 0
}

/** A document's own part of its `_rid`. */
export const RID = 'rrrrrrrrrrrr'

const STAMP = new DocumentStamp({ number: 1, rid: 'AAAAAAAAAAA=', selfLink: 'dbs/a/colls/b/' })

/** A document as users get it. */
export function parsed(version: DocumentVersion): Record<string, unknown> {
  return STAMP.document(version) as unknown as Record<string, unknown>
}
