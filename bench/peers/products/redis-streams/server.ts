import { startRedisProcess } from '@tidemark/testing/servers'
import { orderDocument } from '../../../data/order-document.ts'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'

export interface RedisPlace {
  readonly host: string
  readonly port: number
  readonly stream: string
  readonly group: string
}

const STREAM = 'orders'
const LOAD_CHUNK = 1_000

/** One stream and consumer groups on it. */
export function redisStreams(name: string, appendfsync: 'everysec' | 'always'): PeerEntry {
  return {
    name,
    isOurs: false,
    sharing: 'dynamic',
    isEmbedded: false,
    worker: new URL('worker.ts', import.meta.url),
    start: () => start(appendfsync),
  }
}

/** Redis with an append-only file, and how it is named in tables. */
export async function startRedis(appendfsync: 'everysec' | 'always') {
  const server = await startRedisProcess({
    args: ['--appendonly', 'yes', '--appendfsync', appendfsync],
  })
  const info = await server.admin.info('server')
  const version = `Redis ${/redis_version:(\S+)/.exec(info)?.[1]}, appendfsync ${appendfsync}`
  return { server, version, serverPids: [server.pid ?? 0] }
}

async function start(appendfsync: 'everysec' | 'always'): Promise<RunningPeer> {
  const { server, version, serverPids } = await startRedis(appendfsync)
  const { admin, host, port } = server
  const bodyOf = (index: number): string => JSON.stringify(orderDocument(index))
  let groups = 0
  return {
    version,
    serverPids,
    async load(count) {
      for (let from = 0; from < count; from += LOAD_CHUNK) {
        const pipeline = admin.pipeline()
        for (let index = from; index < Math.min(from + LOAD_CHUNK, count); index++) {
          pipeline.xadd(STREAM, '*', 'body', bodyOf(index))
        }
        await pipeline.exec()
      }
    },
    async newGroup({ begin }): Promise<RedisPlace> {
      const group = `group-${++groups}`
      await admin.xgroup('CREATE', STREAM, group, begin === 'now' ? '$' : '0', 'MKSTREAM')
      return { host, port, stream: STREAM, group }
    },
    async write(index) {
      await admin.xadd(STREAM, '*', 'body', bodyOf(index))
    },
    [Symbol.asyncDispose]: () => server.stop(),
  }
}
