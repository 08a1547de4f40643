import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import type { LeasePlace } from './lease-place.ts'
import type { CampaignStage } from './stage.ts'

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
