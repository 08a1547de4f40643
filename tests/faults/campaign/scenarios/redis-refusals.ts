import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisProcess } from '@tidemark/testing/servers'
import { machineMs } from '../../history.ts'
import { errorCount, startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'
import { PATIENT } from '../stage.ts'

const TIMES = 15
const PAUSE_MS = 150
const LONG_SESSION = { expirationMs: 8_000 }

/** Something that is over at once, again and again: no lease moves, nothing is repeated. */
function repeated(
  name: string,
  about: string,
  {
    fault,
    sign,
    count,
  }: {
    readonly fault: (redis: RedisProcess) => Promise<number>
    readonly sign: string
    /** @default the sum of what `fault` gave */
    readonly count?: (redis: RedisProcess) => Promise<number>
  },
): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      const { redis, place } = await startRedis(stage)
      await stage.startAll(['a', 'b'], place, LONG_SESSION)
      const owners = stage.owners()
      const sinceMs = machineMs()
      let sum = 0
      for (let turn = 0; turn < TIMES; turn++) {
        sum += await fault(redis)
        await sleep(PAUSE_MS)
      }
      await stage.untilAtWork()
      stage.expectOwners(owners, sinceMs)
      return { faults: TIMES, signs: { [sign]: count === undefined ? sum : await count(redis) } }
    },
  }
}

export const scriptFlush: StagedScenario = repeated(
  'script-flush',
  'SCRIPT FLUSH again and again',
  {
    fault: async ({ admin }) => Number(await admin.script('FLUSH').then(() => 1)),
    sign: 'calls of a script that was forgotten',
    count: (redis) => errorCount(redis, 'NOSCRIPT'),
  },
)

export const clientKill: StagedScenario = repeated(
  'client-kill',
  'CLIENT KILL of every connection again and again, those for hints too',
  {
    fault: async ({ admin }) => {
      const normal = await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      const listening = await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes')
      return Number(normal) + Number(listening)
    },
    sign: 'connections killed',
  },
)

/** Redis refuses every write until all hosts have stopped by their own deadlines. */
function refusing(
  name: string,
  about: string,
  {
    begin,
    end,
    error,
  }: {
    readonly begin: (redis: RedisProcess) => Promise<unknown>
    readonly end: (redis: RedisProcess) => Promise<unknown>
    readonly error: string
  },
): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      const { redis, place } = await startRedis(stage)
      const workers = await stage.startAll(['a', 'b'], place, PATIENT)
      const owners = stage.owners()
      const sinceMs = machineMs()
      await begin(redis)
      await Promise.all(workers.map((worker) => worker.until('fenced', sinceMs)))
      await end(redis)
      await stage.untilAtWork()
      stage.expectOwners(owners, sinceMs)
      return {
        faults: 1,
        signs: {
          [`answers ${error}`]: await errorCount(redis, error),
          'hosts that stopped by their own deadline': workers.length,
        },
      }
    },
  }
}

export const readOnly: StagedScenario = refusing(
  'read-only',
  'Redis is made a replica, so that it refuses writes (READONLY)',
  {
    begin: ({ admin }) => admin.call('REPLICAOF', '127.0.0.1', '1'),
    end: ({ admin }) => admin.call('REPLICAOF', 'NO', 'ONE'),
    error: 'READONLY',
  },
)

export const outOfMemory: StagedScenario = refusing(
  'out-of-memory',
  'Redis is above its maxmemory, so that it refuses writes (OOM)',
  {
    begin: ({ admin }) => admin.config('SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'),
    end: ({ admin }) => admin.config('SET', 'maxmemory', '0'),
    error: 'OOM',
  },
)
