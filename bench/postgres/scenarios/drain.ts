import { setTimeout as sleep } from 'node:timers/promises'
import { BenchChild } from '../../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { JsonParseLimit } from '../../raw/json-parse.ts'
import { loadOrders } from '../../store/load-orders.ts'
import { openBenchStore, PARTITION_COUNT } from '../../store/open-bench-store.ts'
import { startBenchServer } from '../bench-server.ts'
import type { OutboxReply, OutboxRequest } from '../children/drain-outbox.child.ts'
import type { ShareReply, ShareRequest } from '../children/share-feed.child.ts'
import { Outbox } from '../peers/outbox.ts'

const MAX_CHANGES = 200_000
const WORKERS = 2
const PATIENCE_MS = 60_000
const LOOK_MS = 20

type Sharer = BenchChild<ShareRequest, ShareReply>
type OutboxReader = BenchChild<OutboxRequest, OutboxReply>

/** Two worker processes drain the same documents: as hosts of our feed, and the two ways usual with PostgreSQL. */
export const postgresDrain: Scenario = {
  name: 'postgres-drain',
  measures: [
    {
      name: 'postgres.drain.2workers',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents on one core',
    },
    {
      name: 'postgres.drain.2workers.perSkipLocked',
      unit: 'documents/s',
      rawIs: '2 workers on a table as a queue, FOR UPDATE SKIP LOCKED, 1,000 rows each time',
      goal: { of: 'ratio', is: 'atLeast', limit: 1 },
    },
    {
      name: 'postgres.drain.2workers.perPgoutput',
      unit: 'documents/s',
      rawIs: 'one process that consumes a replication slot (pgoutput)',
    },
    {
      name: 'postgres.drain.skipLocked',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents on one core',
    },
    {
      name: 'postgres.drain.pgoutput',
      unit: 'documents/s',
      rawIs: 'JSON.parse of the same documents on one core',
    },
  ],
  async prepare({ manyDocuments }): Promise<PreparedScenario> {
    const count = Math.min(MAX_CHANGES, 2 * manyDocuments)
    const server = await startBenchServer({ wal_level: 'logical' })
    const place = await server.createDatabase()
    {
      await using store = await openBenchStore(place)
      await loadOrders(store, count)
    }
    const url = await server.createDatabase()
    const outbox = await Outbox.create(url, count)
    const readers = await start<OutboxRequest, OutboxReply>('drain-outbox')
    await Promise.all(readers.map((reader) => reader.call({ kind: 'connect', url })))
    const sharers = await start<ShareRequest, ShareReply>('share-feed')
    const limit = new JsonParseLimit()
    let runs = 0
    let rates = { skipLocked: Number.NaN, pgoutput: Number.NaN }
    return {
      async ours() {
        const perSecond = await shareRate(sharers, { place, group: `drain-${++runs}`, count })
        const slot = `bench_${runs}`
        await outbox.fill(slot)
        const pgoutput = await pgoutputRate(readers, { slot, count })
        await outbox.dropSlot(slot)
        rates = { skipLocked: await skipLockedRate(readers, count), pgoutput }
        return {
          'postgres.drain.2workers': perSecond,
          'postgres.drain.2workers.perSkipLocked': perSecond,
          'postgres.drain.2workers.perPgoutput': perSecond,
          'postgres.drain.skipLocked': rates.skipLocked,
          'postgres.drain.pgoutput': rates.pgoutput,
        }
      },
      async raw(seconds) {
        const parse = limit.measure(seconds)
        return {
          'postgres.drain.2workers': parse,
          'postgres.drain.2workers.perSkipLocked': rates.skipLocked,
          'postgres.drain.2workers.perPgoutput': rates.pgoutput,
          'postgres.drain.skipLocked': parse,
          'postgres.drain.pgoutput': parse,
        }
      },
      async [Symbol.asyncDispose]() {
        await Promise.all([...readers, ...sharers].map((child) => child[Symbol.asyncDispose]()))
        await outbox[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}

function start<Request extends object, Reply>(
  name: string,
): Promise<readonly BenchChild<Request, Reply>[]> {
  const file = new URL(`../children/${name}.child.ts`, import.meta.url)
  return Promise.all(Array.from({ length: WORKERS }, () => BenchChild.start<Request, Reply>(file)))
}

/** From the moment at which each worker has its share of the leases till the last document was handled. */
async function shareRate(
  sharers: readonly Sharer[],
  { place, group, count }: { place: string; group: string; count: number },
): Promise<number> {
  await Promise.all(sharers.map((sharer) => sharer.call({ kind: 'start', place, group })))
  const share = PARTITION_COUNT / WORKERS
  await lookUntil(sharers, (replies) => replies.every(({ leases }) => leases === share))
  const startedMs = machineMs()
  await Promise.all(sharers.map((sharer) => sharer.call({ kind: 'go' })))
  const replies = await lookUntil(sharers, (each) => sumOf(each) >= count)
  await Promise.all(sharers.map((sharer) => sharer.call({ kind: 'stop' })))
  return rateOf(replies, { count, startedMs })
}

async function lookUntil(
  sharers: readonly Sharer[],
  isDone: (replies: readonly ShareReply[]) => boolean,
): Promise<readonly ShareReply[]> {
  const deadline = machineMs() + PATIENCE_MS
  for (;;) {
    const replies = await Promise.all(sharers.map((sharer) => sharer.call({ kind: 'look' })))
    if (isDone(replies)) return replies
    if (machineMs() > deadline) throw new Error(`workers are stuck at ${JSON.stringify(replies)}`)
    await sleep(LOOK_MS)
  }
}

async function skipLockedRate(readers: readonly OutboxReader[], count: number): Promise<number> {
  const startedMs = machineMs()
  const replies = await Promise.all(readers.map((reader) => reader.call({ kind: 'skipLocked' })))
  return rateOf(replies, { count, startedMs })
}

/** A slot has one consumer. */
async function pgoutputRate(
  [reader]: readonly OutboxReader[],
  { slot, count }: { readonly slot: string; readonly count: number },
): Promise<number> {
  if (reader === undefined) throw new Error('there is no worker')
  const startedMs = machineMs()
  const reply = await reader.call({ kind: 'pgoutput', slot, count })
  return rateOf([reply], { count, startedMs })
}

function rateOf(
  replies: readonly { readonly documents: number; readonly lastMs: number }[],
  { count, startedMs }: { readonly count: number; readonly startedMs: number },
): number {
  const documents = sumOf(replies)
  if (documents !== count) throw new Error(`${documents} of ${count} documents were handled`)
  return (count / (Math.max(...replies.map(({ lastMs }) => lastMs)) - startedMs)) * 1000
}

function sumOf(replies: readonly { readonly documents: number }[]): number {
  return replies.reduce((sum, { documents }) => sum + documents, 0)
}
