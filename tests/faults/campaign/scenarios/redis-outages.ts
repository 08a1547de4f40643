import { cp, rm, stat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { feedRangeId } from '@tidemark/contracts'
import type { RedisProcess } from '@tidemark/testing/servers'
import { entriesOf, machineMs } from '../../history.ts'
import { FAULT_TIMES } from '../../host-process.ts'
import { GROUP } from '../../ranges/keyed-store.ts'
import { until } from '../../until.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario, Told } from '../scenario.ts'
import { PATIENT, type CampaignStage } from '../stage.ts'

const STALL_BEATS = 10
const LOG_ALWAYS = ['--appendonly', 'yes', '--appendfsync', 'always']
const LOG_EVERY_SECOND = ['--appendonly', 'yes', '--appendfsync', 'everysec']

/** Redis does not answer for ten heartbeats, longer than a session, and then goes on. */
async function stall(
  stage: CampaignStage,
  fault: (redis: RedisProcess, forMs: number) => Promise<void>,
): Promise<Told> {
  const { redis, place } = await startRedis(stage)
  const workers = await stage.startAll(['a', 'b'], place, PATIENT)
  const owners = stage.owners()
  const sinceMs = machineMs()
  await fault(redis, STALL_BEATS * FAULT_TIMES.renewMs)
  const stalledMs = machineMs() - sinceMs
  await stage.untilAtWork()
  stage.expectOwners(owners, sinceMs)
  return {
    faults: 1,
    signs: {
      'hosts that stopped by their own deadline': workers.filter(
        (worker) => worker.events('fenced', sinceMs).length > 0,
      ).length,
      'hosts that missed an answer': workers.filter(
        (worker) => worker.events('leaseStoreUnavailable', sinceMs).length > 0,
      ).length,
    },
    figures: `stalled for ${(stalledMs / FAULT_TIMES.renewMs).toFixed(1)} heartbeats: 0 of ${owners.size} leases moved`,
  }
}

export const redisStopped: StagedScenario = {
  name: 'redis-stopped',
  about: 'SIGSTOP of Redis for 10 heartbeats: no lease moves',
  act: (stage) =>
    stall(stage, async (redis, forMs) => {
      redis.pause()
      await sleep(forMs)
      redis.resume()
    }),
}

export const redisClientPause: StagedScenario = {
  name: 'redis-client-pause',
  about: 'CLIENT PAUSE of Redis for 10 heartbeats: no lease moves',
  act: (stage) =>
    stall(stage, async ({ admin }, forMs) => {
      await admin.call('CLIENT', 'PAUSE', forMs, 'ALL')
      // Answered when the pause is over.
      await admin.ping()
    }),
}

/** Killed, and started again on the log that it has. */
function killed(name: string, about: string, args: readonly string[]): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      const { redis, place } = await startRedis(stage, args)
      const workers = await stage.startAll(['a', 'b'], place, PATIENT)
      const owners = stage.owners()
      const sinceMs = machineMs()
      const kills = 2
      for (let count = 0; count < kills; count++) {
        await redis.kill()
        // Sometimes for less than a session, sometimes for more.
        await sleep((0.2 + stage.random.fraction()) * PATIENT.expirationMs)
        await redis.start()
        await stage.untilAtWork()
      }
      stage.expectOwners(owners, sinceMs)
      return {
        faults: kills,
        signs: {
          'hosts that missed an answer': workers.filter(
            (worker) => worker.events('leaseStoreUnavailable', sinceMs).length > 0,
          ).length,
        },
        figures: `0 of ${owners.size} leases moved`,
      }
    },
  }
}

export const redisKilledLogAlways: StagedScenario = killed(
  'redis-killed-aof-always',
  'Redis is killed and started again, each write on disk before it is answered',
  LOG_ALWAYS,
)
/** The death of the process loses nothing of it; that of the machine is `redis-second-lost`. */
export const redisKilledLogEverySecond: StagedScenario = killed(
  'redis-killed-aof-everysec',
  'Redis is killed and started again, its log written at once and synced every second',
  LOG_EVERY_SECOND,
)

/**
 * Redis comes back as it was some time ago. Meanwhile leases have changed their owners, and one of the hosts dies with
 * it: what that one had stored nobody can store again.
 */
function rolledBack(name: string, about: string, backMs: number): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      // Each write is in the log before it is answered: the copy has all that was stored before it.
      const { redis, place } = await startRedis(stage, LOG_ALWAYS)
      await stage.startAll(['a', 'b', 'c'], place)
      const log = join(redis.dir, LOG_FOLDER)
      const older = join(stage.folder, 'older-log')
      const [leaving, dying] = stage.workers
      const fromMs = machineMs()
      await cp(log, older, { recursive: true })
      leaving?.tell({ kind: 'leave' })
      await leaving?.until('left', fromMs)
      leaving?.tell({ kind: 'join' })
      await until(() => machineMs() > fromMs + backMs, { what: 'some work', timeoutMs: 2 * backMs })
      await Promise.all([redis.kill(), dying?.process.kill()])
      const toMs = machineMs()
      const bytes = await bytesIn(log)
      await rm(log, { recursive: true })
      await cp(older, log, { recursive: true })
      const kept = await bytesIn(log)
      await redis.start()
      // Redis knows it as it was before it left, which looks as if another process had its name.
      const restarted = await stage.restartStopped('ERR_HOST_REPLACED', place)
      await stage.untilAtWork()
      return {
        faults: 2,
        signs: {
          'bytes of the log that are gone': bytes - kept,
          'leases that had changed their owner': leaving?.events('leaseReleased').length ?? 0,
        },
        exclusive: false,
        ends: ['ERR_HOST_REPLACED'],
        lost: { fromMs, toMs },
        figures: `${Math.round(toMs - fromMs)} ms are gone, ${restarted} hosts were started again`,
      }
    },
  }
}

const LOG_FOLDER = 'appendonlydir'

async function bytesIn(folder: string): Promise<number> {
  const files = await readdir(folder)
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

export const redisSecondLost: StagedScenario = rolledBack(
  'redis-second-lost',
  'Redis comes back without its last second, as after a power cut with appendfsync everysec',
  1_000,
)
export const redisRolledBack: StagedScenario = rolledBack(
  'redis-rolled-back',
  'Redis comes back with an older log, from before leases changed their owners',
  4_000,
)

/** Redis has nothing any more. */
function emptied(
  name: string,
  about: string,
  fault: (redis: RedisProcess, stage: CampaignStage) => Promise<Pick<Told, 'faults' | 'lost'>>,
): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      const { redis, place } = await startRedis(stage)
      await stage.startAll(['a', 'b', 'c'], place)
      const sinceMs = machineMs()
      const cost = await fault(redis, stage)
      const goneMs = machineMs()
      const workers = stage.workers
      const atWork = (): boolean =>
        stage.isShared() &&
        workers.every((worker) => worker.entries('open').some(({ atMs }) => atMs > sinceMs))
      await until(atWork, { what: 'leases made anew and shared out' })
      const recoveredMs = machineMs()
      await stage.untilAtWork()
      return {
        ...cost,
        signs: {
          'hosts that recovered': workers.filter(
            (worker) => worker.events('recovered', sinceMs).length > 0,
          ).length,
        },
        figures: `recovered after ${Math.round(recoveredMs - goneMs)} ms`,
      }
    },
  }
}

/** When a host began with the first change of which the feed does not know that it is done. */
async function untoldSinceMs({ store, histories }: CampaignStage): Promise<number> {
  const told = new Map(
    (await store.events.positions.read(GROUP)).map(({ range, lsn }) => [feedRangeId(range), lsn]),
  )
  const untold = histories
    .flatMap((history) => entriesOf(history, 'dispatch'))
    .filter(({ lease, lsns }) => lsns.some((lsn) => lsn > (told.get(lease) ?? 0)))
  return Math.min(...untold.map(({ atMs }) => atMs))
}

export const redisEmptied: StagedScenario = emptied(
  'redis-emptied',
  'Redis without a log is killed and started again, and a host dies with it: leases are made where the feed knows that they stood',
  async (redis, stage) => {
    const victim = stage.random.pick(stage.workers)
    await Promise.all([redis.kill(), victim.process.kill()])
    const toMs = machineMs()
    const fromMs = await untoldSinceMs(stage)
    await redis.start()
    return { faults: 2, lost: { fromMs, toMs } }
  },
)
export const redisFlushed: StagedScenario = emptied(
  'redis-flushed',
  'FLUSHALL under running hosts: leases are made anew where hosts and feed know that they stood',
  async ({ admin }) => {
    await admin.flushall()
    // Every owner lives, and knows what it had stored.
    return { faults: 1 }
  },
)
