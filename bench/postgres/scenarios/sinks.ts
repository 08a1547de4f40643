import type { Change } from '@tidemark/contracts'
import { postgresSink, redisCacheSink, syncTo, type Sink, type SinkEntry } from '@tidemark/jobs'
import { DocumentLeaseStore } from '@tidemark/processor'
import { startRedisProcess } from '@tidemark/testing/servers'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { OrderDocument } from '../../data/order-document.ts'
import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { loadOrders } from '../../store/load-orders.ts'
import { openBenchStore, type BenchStore } from '../../store/open-bench-store.ts'
import { startBenchServer } from '../bench-server.ts'

const MAX_ITEM_COUNT = 1_000

/** `syncTo` from an embedded store into an empty target, beside what one writes by hand: a loop with one statement a change. */
export const sinkRates: Scenario = {
  name: 'sinks',
  measures: [
    {
      name: 'sink.postgres',
      unit: 'changes/s',
      rawIs: 'a loop by hand: one upsert a change, no leases, no checkpoints',
      goal: { of: 'ratio', is: 'atLeast', limit: 3 },
    },
    {
      name: 'sink.redis',
      unit: 'changes/s',
      rawIs: 'a loop by hand: one SET a change, no leases, no checkpoints',
      goal: { of: 'ratio', is: 'atLeast', limit: 1 },
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const redisServer = await startRedisProcess()
    const pool = new Pool({ connectionString: await server.createDatabase() })
    const redis = new Redis(redisServer.port, '127.0.0.1')
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    let runs = 0
    return {
      async ours() {
        const table = `ours_${++runs}`
        return {
          'sink.postgres': await syncRate(store, postgresSink({ pool, table }), documents),
          'sink.redis': await syncRate(
            store,
            redisCacheSink({ redis, prefix: `${table}:` }),
            documents,
          ),
        }
      },
      async raw(seconds) {
        const table = `raw_${++runs}`
        await pool.query(
          `CREATE TABLE ${table} (customer text, id text, document jsonb, PRIMARY KEY (customer, id))`,
        )
        const upsert = `INSERT INTO ${table} VALUES ($1, $2, $3)
          ON CONFLICT (customer, id) DO UPDATE SET document = excluded.document`
        return {
          'sink.postgres': await loopRate(store, seconds, async ({ id, document }) => {
            await pool.query(upsert, [document.customerId, id, JSON.stringify(document)])
          }),
          'sink.redis': await loopRate(store, seconds, async ({ id, document }) => {
            await redis.set(`${table}:${document.customerId}:${id}`, JSON.stringify(document))
          }),
        }
      },
      async [Symbol.asyncDispose]() {
        await store.close()
        await pool.end()
        redis.disconnect()
        await redisServer[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}

let groups = 0

/** From the call of the first write to the end of the last. */
async function syncRate(
  { orders, leases }: BenchStore,
  sink: Sink<SinkEntry<OrderDocument>>,
  count: number,
): Promise<number> {
  groups += 1
  let written = 0
  let firstMs: number | undefined
  let lastMs = 0
  await using sync = syncTo({
    feed: orders,
    group: `sink-${process.pid}-${groups}`,
    leases: new DocumentLeaseStore(leases),
    sink: {
      open: (source, options) => sink.open?.(source, options) ?? Promise.resolve(),
      async write(batch, context) {
        firstMs ??= machineMs()
        await sink.write(batch, context)
        written += batch.length
        lastMs = machineMs()
      },
    },
    deletes: 'ignore',
    feedOptions: { maxItemCount: MAX_ITEM_COUNT },
    stopWhenCaughtUp: true,
  })
  await sync.start()
  await sync.finished
  if (written !== count) throw new Error(`the sink got ${written} of ${count} changes`)
  return (written / (lastMs - (firstMs ?? 0))) * 1_000
}

async function loopRate(
  { orders }: BenchStore,
  seconds: number,
  write: (change: Extract<Change<OrderDocument>, { kind: 'document' }>) => Promise<void>,
): Promise<number> {
  const startedMs = machineMs()
  let count = 0
  for (const range of await orders.readFeedRanges()) {
    let { continuation } = await orders.resolveStart({ range, start: 'beginning' })
    for (let isOver = false; !isOver;) {
      const page = await orders.readPage({ range, continuation, maxItemCount: MAX_ITEM_COUNT })
      for (const change of page.changes) {
        if (change.kind !== 'document') continue
        await write(change)
        count += 1
        const elapsedMs = machineMs() - startedMs
        if (elapsedMs > seconds * 1_000) return (count / elapsedMs) * 1_000
      }
      continuation = page.continuation
      isOver = page.caughtUp
    }
  }
  return (count / (machineMs() - startedMs)) * 1_000
}
