import {
  FULL_RANGE,
  effectivePartitionKey,
  evenRanges,
  partitionKeyDefinition,
  partitionKeyText,
  type FeedRange,
} from '@tidemark/contracts'
import type {
  CollectionDefinition,
  CollectionRecord,
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  DatabaseEngine,
  EngineFeedPage,
  StorageEngine,
  WriteCondition,
} from '@tidemark/store'
import { expect } from 'vitest'

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
  open(): Promise<StorageEngineUnderTest>
  /** Random sequences of the model test. @default 100 */
  readonly modelRuns?: number | undefined
}

const partitionKey = partitionKeyDefinition('/pk')
export const DEFINITION: CollectionDefinition = {
  partitionKey,
  defaultTtl: null,
  indexingMode: 'consistent',
}
/** Far more than any test writes: pages are limited by items. */
export const MANY_CHARS = 100_000_000
export const MANY_ITEMS = 1_000_000

/** A database and collection to write to, with the short forms that tests read well with. */
export class EngineFixture {
  readonly engine: StorageEngine
  readonly database: DatabaseEngine
  readonly collection: CollectionRecord

  constructor(engine: StorageEngine, database: DatabaseEngine, collection: CollectionRecord) {
    this.engine = engine
    this.database = database
    this.collection = collection
  }

  static async make(engine: StorageEngine, rangeCount = 1): Promise<EngineFixture> {
    await engine.createDatabase('db')
    const database = await engine.openDatabase('db')
    const collection = await database.createCollection(
      'coll',
      DEFINITION,
      evenRanges(rangeCount, partitionKey),
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
    return { collection: this.collection, ...keyOf(pk), operations }
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
    return row && parsed(row.body)
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

  /** Ids in feed order, page after page. */
  async feedIds(range: FeedRange = FULL_RANGE, maxItems = 7): Promise<readonly string[]> {
    const ids: string[] = []
    for (let afterLsn = 0; ;) {
      const page = await this.page(afterLsn, { maxItems, range })
      for (const [, , body] of page.rows) ids.push(String(parsed(body)['id']))
      expect(page.lsn).toBeGreaterThanOrEqual(afterLsn)
      if (page.caughtUp) return ids
      expect(page.lsn).toBeGreaterThan(afterLsn)
      afterLsn = page.lsn
    }
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
}

/** EPK and canonical text of a partition key value. */
export function keyOf(pk: string): { readonly epk: string; readonly partitionKey: string } {
  return { epk: effectivePartitionKey([pk], partitionKey), partitionKey: partitionKeyText([pk]) }
}

/** A put of `{id, n}`. */
export function put(
  id: string,
  { n = 0, condition = { kind: 'none' } }: { n?: number; condition?: WriteCondition } = {},
): CommitOperation {
  const head = '{"_rid":"r","_self":"s",'
  return { kind: 'put', id, condition, head, tail: JSON.stringify({ id, n }).slice(1), ttl: 0 }
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

export function parsed(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>
}
