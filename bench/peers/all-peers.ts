import type { PeerEntry } from './contract/peer.ts'
import { bullmq } from './products/bullmq/server.ts'
import { naivePoll } from './products/naive-sqlite/server.ts'
import { natsJetStream } from './products/nats-jetstream/server.ts'
import { pgoutput } from './products/pgoutput/server.ts'
import { redisStreams } from './products/redis-streams/server.ts'
import { skipLocked } from './products/skip-locked/server.ts'
import { embedded, embeddedRedis, onPostgres, overHttp } from './products/tidemark/server.ts'

/** In the order of the tables: ours, then what people would pick instead. */
export const PEERS: readonly PeerEntry[] = [
  embedded,
  embeddedRedis,
  onPostgres,
  overHttp,
  naivePoll('naive-poll', 'NORMAL'),
  naivePoll('naive-poll-synced', 'FULL'),
  redisStreams('redis-everysec', 'everysec'),
  redisStreams('redis-always', 'always'),
  bullmq,
  natsJetStream,
  skipLocked,
  pgoutput,
]
