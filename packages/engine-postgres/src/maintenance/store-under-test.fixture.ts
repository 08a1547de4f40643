import {
  FULL_RANGE,
  effectivePartitionKey,
  partitionKeyDefinition,
  partitionKeyText,
} from '@tidemark/contracts'
import { type FeedRow } from '@tidemark/contracts/internal'
import {
  rangeOfEpk,
  type CollectionDefinition,
  type CollectionRecord,
  type CommitOperation,
  type DatabaseEngine,
  type MaintenanceTask,
  type StorageEngine,
} from '@tidemark/store/engine'
import { SteppedClock } from '@tidemark/testing'
import type { SharedPostgres } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { openPostgresEngine } from '../postgres-engine.ts'

const partitionKey = partitionKeyDefinition('/pk')
const DEFINITION: CollectionDefinition = {
  partitionKey,
  defaultTtl: null,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
  allVersions: null,
  splitAboveBytes: null,
}

/** One store as two processes have it open: `database` writes, `other` maintains. */
export class StoreUnderTest implements AsyncDisposable {
  readonly clock: SteppedClock
  readonly database: DatabaseEngine
  readonly other: DatabaseEngine
  readonly collection: CollectionRecord
  readonly #engines: readonly StorageEngine[]
  readonly #client: Client

  private constructor(
    parts: Pick<StoreUnderTest, 'clock' | 'database' | 'other' | 'collection'>,
    engines: readonly StorageEngine[],
    client: Client,
  ) {
    this.clock = parts.clock
    this.database = parts.database
    this.other = parts.other
    this.collection = parts.collection
    this.#engines = engines
    this.#client = client
  }

  static async open(
    server: Pick<SharedPostgres, 'createDatabase'>,
    definition: Partial<CollectionDefinition> = {},
  ): Promise<StoreUnderTest> {
    const url = await server.createDatabase()
    const clock = new SteppedClock()
    const open = (): Promise<StorageEngine> =>
      openPostgresEngine({ url, clock, storeTime: 'process', maxConnections: 6 })
    const engine = await open()
    const second = await open()
    const client = new Client(url)
    await client.connect()
    await engine.createDatabase('db')
    const database = await engine.openDatabase('db')
    const other = await second.openDatabase('db')
    const collection = await database.createCollection('coll', { ...DEFINITION, ...definition }, [
      FULL_RANGE,
    ])
    return new StoreUnderTest({ clock, database, other, collection }, [engine, second], client)
  }

  /** One statement past the engines, with the store's schema in the search path. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly unknown[][]> {
    await this.#client.query('SET search_path = tidemark')
    const { rows } = await this.#client.query<unknown[]>({
      text,
      values: [...values],
      rowMode: 'array',
    })
    return rows
  }

  /** A number that a statement answers. */
  async number(text: string, values: readonly unknown[] = []): Promise<number> {
    const [row] = await this.query(text, values)
    return Number(row?.[0])
  }

  async commit(pk: string, ...operations: readonly CommitOperation[]): Promise<number> {
    const key = {
      epk: effectivePartitionKey([pk], partitionKey),
      partitionKey: partitionKeyText([pk]),
    }
    const outcome = await this.database.commit({
      batches: [{ collection: this.collection.number, ...key, operations }],
    })
    if (outcome.kind !== 'committed') throw new Error(`not committed: ${outcome.kind}`)
    return outcome.batches[0]?.lsn ?? 0
  }

  async split(at: string): Promise<void> {
    const ranges = await this.database.listRanges(this.collection)
    const { number: range } = rangeOfEpk(ranges, at)
    await this.database.splitRange({ collection: this.collection, range, at })
  }

  async mergeAll(): Promise<void> {
    for (;;) {
      const [first, second] = await this.database.listRanges(this.collection)
      if (first === undefined || second === undefined) return
      const ranges = [first.number, second.number] as const
      await this.database.mergeRanges({ collection: this.collection, ranges })
    }
  }

  /** Pieces of one kind, through the other process, until none is left; gives the number of items. */
  async maintain(kind: MaintenanceTask['kind'], maxItems: number): Promise<number> {
    let items = 0
    for (;;) {
      const { tasks } = await this.other.readMaintenance()
      const task = tasks.find((each) => each.kind === kind)
      if (task === undefined) return items
      const outcome = await this.other.maintain({ holder: 'test', leaseMs: 10_000, maxItems, task })
      if (outcome.kind === 'held') throw new Error(`held by ${outcome.holder}`)
      items += outcome.items
    }
  }

  /** The whole feed of all ranges, each in its order. */
  async feed(): Promise<readonly FeedRow[]> {
    const rows: FeedRow[] = []
    for (const { minInclusive, maxExclusive } of await this.database.listRanges(this.collection)) {
      const range = { minInclusive, maxExclusive }
      for (let afterLsn = 0, isAtEnd = false; !isAtEnd;) {
        const page = await this.database.readFeedPage({
          collection: this.collection,
          range,
          afterLsn,
          maxItems: 500,
          maxChars: 10_000_000,
        })
        rows.push(...page.rows)
        afterLsn = page.lsn
        isAtEnd = page.caughtUp
      }
    }
    return rows
  }

  /** Resolves when so many statements of engines wait for locks. */
  async untilBlocked(statements = 1): Promise<void> {
    const blocked = `SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`
    do {
      // Within a transaction the server answers what it answered before.
      await this.query('SELECT pg_stat_clear_snapshot()')
    } while ((await this.number(blocked)) < statements)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const engine of this.#engines) await engine.close()
    await this.#client.end()
  }
}

/** Runs `act` again and again, `width` times beside itself, until stopped. Rejects with its first failure. */
export async function whileRunning(
  work: () => Promise<void>,
  { act, width }: { readonly act: (turn: number) => Promise<void>; readonly width: number },
): Promise<number> {
  let isOver = false
  let turns = 0
  const lanes = Array.from({ length: width }, async () => {
    while (!isOver) await act(turns++)
  })
  try {
    await work()
  } finally {
    isOver = true
    await Promise.allSettled(lanes)
  }
  await Promise.all(lanes)
  return turns
}

export function put(id: string, ttl = 0): CommitOperation {
  const body = JSON.stringify(ttl === 0 ? { id } : { id, ttl })
  return { kind: 'put', id, condition: { kind: 'none' }, rid: 'r', body, ttl }
}

export function del(id: string): CommitOperation {
  return { kind: 'delete', id, condition: { kind: 'none' } }
}
