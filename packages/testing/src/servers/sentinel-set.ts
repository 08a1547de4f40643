import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { KillAtExit } from './kill-at-exit.ts'
import { startRedisProcess, type RedisProcess } from './redis-process.ts'

const READY_LIMIT_MS = 30_000

/** One primary, two replicas and three Sentinels that watch them under the name `main`. */
export class SentinelSet implements AsyncDisposable {
  readonly masterName = 'main'
  /** The first was the primary at the start. */
  readonly data: readonly RedisProcess[]
  readonly sentinels: readonly RedisProcess[]

  /** Use `startSentinelSet`. */
  constructor(data: readonly RedisProcess[], sentinels: readonly RedisProcess[]) {
    this.data = data
    this.sentinels = sentinels
  }

  /** A new client that follows the primary. The caller disconnects it. */
  connect(): Redis {
    const redis = new Redis({
      sentinels: this.sentinels.map(({ host, port }) => ({ host, port })),
      name: this.masterName,
      sentinelRetryStrategy: () => 50,
      retryStrategy: () => 50,
      maxRetriesPerRequest: null,
    })
    redis.on('error', () => {})
    return redis
  }

  /** The server that the Sentinels call the primary now. */
  async primary(): Promise<RedisProcess> {
    const [sentinel] = this.sentinels
    const answer = await sentinel?.admin.call(
      'SENTINEL',
      'GET-MASTER-ADDR-BY-NAME',
      this.masterName,
    )
    const port = Number(Array.isArray(answer) ? answer[1] : undefined)
    const server = this.data.find((other) => other.port === port)
    if (server === undefined) throw new Error(`the primary on port ${port} is none of the set`)
    return server
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.data].map((server) => server.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

/** Takes about 2.5 s. A fail-over begins 0.5 s after the primary died. */
export async function startSentinelSet(): Promise<SentinelSet> {
  const killAtExit = new KillAtExit()
  const args = ['--repl-diskless-sync-delay', '0']
  const primary = await startRedisProcess({ args, killAtExit })
  const replicaOf = ['--replicaof', `127.0.0.1 ${primary.port}`]
  const replicas = await Promise.all(
    [1, 2].map(() => startRedisProcess({ args: [...args, ...replicaOf], killAtExit })),
  )
  const configFile = async ({ dir, port }: { dir: string; port: number }): Promise<string> => {
    const file = join(dir, 'sentinel.conf')
    await writeFile(file, sentinelConfig({ dir, port, primaryPort: primary.port }))
    return file
  }
  const sentinels = await Promise.all(
    [1, 2, 3].map(() => startRedisProcess({ args: ['--sentinel'], configFile, killAtExit })),
  )
  const set = new SentinelSet([primary, ...replicas], sentinels)
  const limit = Date.now() + READY_LIMIT_MS
  for (const { admin } of sentinels) {
    while (!(await seesAll(admin))) {
      if (Date.now() > limit) {
        await set.stop()
        throw new Error('the Sentinels did not find each other')
      }
      await sleep(50)
    }
  }
  return set
}

function sentinelConfig(place: { dir: string; port: number; primaryPort: number }): string {
  return [
    `port ${place.port}`,
    'bind 127.0.0.1',
    `dir ${place.dir}`,
    `sentinel monitor main 127.0.0.1 ${place.primaryPort} 2`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 2000',
    'sentinel parallel-syncs main 1',
    '',
  ].join('\n')
}

async function seesAll(sentinel: Redis): Promise<boolean> {
  const answer = await sentinel.call('SENTINEL', 'MASTER', 'main')
  const fields = Array.isArray(answer) ? answer.map(String) : []
  const field = (name: string): string | undefined => fields[fields.indexOf(name) + 1]
  return field('num-other-sentinels') === '2' && field('num-slaves') === '2'
}
