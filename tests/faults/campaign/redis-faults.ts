import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import { machineMs } from '../history.ts'
import { GROUP } from '../ranges/keyed-store.ts'
import type { LeasePlace } from './lease-place.ts'
import type { CampaignStage } from './stage.ts'

const PATIENCE_MS = 30_000

export interface StartedRedis {
  readonly redis: RedisProcess
  readonly place: LeasePlace
}

/** A server for the leases of a stage, stopped with it. */
export async function startRedis(
  stage: CampaignStage,
  args: readonly string[] = [],
): Promise<StartedRedis> {
  const redis = stage.use(await startRedisProcess({ args }))
  return { redis, place: { kind: 'server', port: redis.port } }
}

/** How often the server has answered with an error of this name since it started. */
export async function errorCount(redis: RedisProcess, name: string): Promise<number> {
  const info = String(await redis.admin.info('errorstats'))
  return Number(new RegExp(`errorstat_${name}:count=(\\d+)`).exec(info)?.[1] ?? 0)
}

/**
 * A moment before which all that was answered is on these many replicas, however far behind they are: what a replica
 * that is promoted lacks was stored since.
 */
export async function replicatedMs({ admin }: RedisProcess, replicas: number): Promise<number> {
  const atMs = machineMs()
  // WAIT is for the writes of its own connection.
  await admin.set(`mark:{${GROUP}}`, atMs)
  const reached = await admin.wait(replicas, PATIENCE_MS)
  if (reached < replicas) throw new Error(`${replicas - reached} replicas have not caught up`)
  return atMs
}
