import { createRequire } from 'node:module'
import { Queue } from 'bullmq'
import { orderDocument, type OrderDocument } from '../../../data/order-document.ts'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'
import { startRedis } from '../redis-streams/server.ts'

export interface BullmqPlace {
  readonly queue: string
  readonly connection: {
    readonly host: string
    readonly port: number
    readonly maxRetriesPerRequest: null
  }
}

const QUEUE = 'orders'
const JOB = 'order'
const LOAD_CHUNK = 1_000

const { version } = createRequire(import.meta.url)('bullmq/package.json') as {
  readonly version: string
}

/** A queue whose completed jobs are removed, on a Redis as BullMQ's documentation wants it. */
export const bullmq: PeerEntry = {
  name: 'bullmq',
  isOurs: false,
  sharing: 'dynamic',
  isEmbedded: false,
  worker: new URL('worker.ts', import.meta.url),
  async start(): Promise<RunningPeer> {
    const redis = await startRedis('everysec')
    await redis.server.admin.config('SET', 'maxmemory-policy', 'noeviction')
    const { host, port } = redis.server
    const connection = { host, port, maxRetriesPerRequest: null }
    const queue = new Queue<OrderDocument>(QUEUE, {
      connection,
      defaultJobOptions: { removeOnComplete: true },
    })
    await queue.waitUntilReady()
    let loaded = 0
    return {
      version: `BullMQ ${version}, ${redis.version}`,
      serverPids: redis.serverPids,
      load(count) {
        loaded = count
        return Promise.resolve()
      },
      /** A queue forgets what was taken: each group has to be filled. */
      async newGroup({ begin }): Promise<BullmqPlace> {
        await queue.obliterate({ force: true })
        for (let from = 0; from < (begin === 'now' ? 0 : loaded); from += LOAD_CHUNK) {
          const length = Math.min(LOAD_CHUNK, loaded - from)
          const jobs = Array.from({ length }, (_, at) => ({
            name: JOB,
            data: orderDocument(from + at),
          }))
          await queue.addBulk(jobs)
        }
        return { queue: QUEUE, connection }
      },
      async write(index) {
        await queue.add(JOB, orderDocument(index))
      },
      async [Symbol.asyncDispose]() {
        await queue.close()
        await redis.server.stop()
      },
    }
  },
}
