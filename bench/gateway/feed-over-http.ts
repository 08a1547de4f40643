import { join } from 'node:path'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore, type BenchStore } from '../store/open-bench-store.ts'
import { scanFeed, scanFeedUnparsed } from '../store/read-feed.ts'
import type { BareHttpReply, BareHttpRequest } from './children/bare-http.child.ts'
import type { ReadHttpFeedReply, ReadHttpFeedRequest } from './children/read-http-feed.child.ts'
import { readRangeIds } from './feed-pages.ts'
import { ServerProcess } from './gateway-process.ts'
import { HttpCalls } from './http-calls.ts'

const BARE = 'bare Node HTTP server, same bytes from memory'

/** The feed from the beginning to the end over HTTP, again and again, read by processes of their own. */
export const feedOverHttp: Scenario = {
  name: 'gateway-feed',
  measures: [
    { name: 'gateway.feed.1worker', unit: 'documents/s', rawIs: BARE },
    { name: 'gateway.feed.2workers', unit: 'documents/s', rawIs: `${BARE}, two workers` },
    { name: 'gateway.feed.1worker.parsed', unit: 'documents/s', rawIs: 'in process, parsed' },
    { name: 'gateway.feed.bareHttp', unit: 'documents/s', rawIs: 'in process, as text' },
    { name: 'gateway.feed.inProcess', unit: 'documents/s', rawIs: BARE },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const server = await ServerProcess.gateway(join(folder, 'store'))
    const bare = await BenchChild.start<BareHttpRequest, BareHttpReply>(
      new URL('children/bare-http.child.ts', import.meta.url),
    )
    const { endpoint: bareEndpoint } = await bare.call({ endpoint: server.endpoint })
    const workers = await Promise.all([startWorker(), startWorker()])
    const ranges = await rangesOf(server.endpoint)
    const drain = (endpoint: string, seconds: number): Promise<number> =>
      rateOfWorkers(workers.slice(0, 1), { endpoint, ranges, seconds, documents: 'received' })
    const drainByTwo = (endpoint: string, seconds: number): Promise<number> =>
      rateOfWorkers(workers, { endpoint, ranges, seconds, documents: 'received' })
    return {
      async ours(seconds) {
        const { endpoint } = server
        const parsed = { endpoint, ranges, seconds, documents: 'parsed' } as const
        return {
          'gateway.feed.1worker': await drain(endpoint, seconds),
          'gateway.feed.2workers': await drainByTwo(endpoint, seconds),
          'gateway.feed.1worker.parsed': await rateOfWorkers(workers.slice(0, 1), parsed),
          'gateway.feed.bareHttp': await drain(bareEndpoint, seconds),
          'gateway.feed.inProcess': await rateInProcess(store, 'text', seconds),
        }
      },
      async raw(seconds) {
        const one = await drain(bareEndpoint, seconds)
        return {
          'gateway.feed.1worker': one,
          'gateway.feed.2workers': await drainByTwo(bareEndpoint, seconds),
          'gateway.feed.1worker.parsed': await rateInProcess(store, 'parsed', seconds),
          'gateway.feed.bareHttp': await rateInProcess(store, 'text', seconds),
          'gateway.feed.inProcess': one,
        }
      },
      async [Symbol.asyncDispose]() {
        for (const worker of workers) await worker[Symbol.asyncDispose]()
        await bare[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}

type Worker = BenchChild<ReadHttpFeedRequest, ReadHttpFeedReply>

function startWorker(): Promise<Worker> {
  return BenchChild.start(new URL('children/read-http-feed.child.ts', import.meta.url))
}

async function rangesOf(endpoint: string): Promise<readonly string[]> {
  using calls = new HttpCalls(endpoint, { connections: 1 })
  return await readRangeIds(calls)
}

/** Ranges are shared out evenly; the sum of what all workers got. */
async function rateOfWorkers(
  workers: readonly Worker[],
  task: ReadHttpFeedRequest,
): Promise<number> {
  const replies = await Promise.all(
    workers.map((worker, turn) => {
      const ranges = task.ranges.filter((_, index) => index % workers.length === turn)
      return worker.call({ ...task, ranges })
    }),
  )
  return replies.reduce((sum, { perSecond }) => sum + perSecond, 0)
}

async function rateInProcess(
  store: BenchStore,
  form: 'text' | 'parsed',
  seconds: number,
): Promise<number> {
  const started = machineMs()
  let documents = 0
  do {
    documents +=
      form === 'text'
        ? await scanFeedUnparsed(store, 1_000)
        : await scanFeed(store, { pageSize: 1_000 })
  } while (machineMs() < started + seconds * 1000)
  return (documents / (machineMs() - started)) * 1000
}
