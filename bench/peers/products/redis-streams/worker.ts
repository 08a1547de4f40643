import { Redis } from 'ioredis'
import type { OrderDocument } from '../../../data/order-document.ts'
import { machineMs } from '../../../measuring/stopwatch.ts'
import { loopingWorker } from '../../contract/looping-worker.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { RedisPlace } from './server.ts'

type Entry = readonly [id: string, fields: readonly string[]]

/**
 * As Redis' documentation has it: each consumer reads what is new, acknowledges it, and claims from time to time what others
 * have had for too long. A page's acknowledgement and the next read share a round trip.
 */
export const join: JoinGroup<RedisPlace> = async ({ place, ...task }, handle) => {
  const redis = new Redis({ host: place.host, port: place.port, maxRetriesPerRequest: null })
  await redis.ping()
  const { stream, group } = place
  const consumer = `worker-${task.worker}`
  const claimEveryMs = task.takeoverMs / 4
  let handled: readonly string[] = []
  let claimAtMs = machineMs() + claimEveryMs

  const accept = (entries: readonly Entry[]): void => {
    handle(entries.map(([, fields]) => JSON.parse(fields[1] ?? 'null') as OrderDocument))
    handled = entries.map(([id]) => id)
  }
  const acknowledging = () => {
    const pipeline = redis.pipeline()
    if (handled.length > 0) pipeline.xack(stream, group, ...handled)
    handled = []
    return pipeline
  }
  return loopingWorker({
    gate: task.gate,
    async turn() {
      const isTime = machineMs() >= claimAtMs
      const pipeline = acknowledging()
      if (isTime) {
        claimAtMs = machineMs() + claimEveryMs
        const idle = task.takeoverMs
        pipeline.xautoclaim(stream, group, consumer, idle, '0', 'COUNT', task.pageSize)
      } else {
        const block = Math.max(1, Math.round(claimAtMs - machineMs()))
        const from = ['STREAMS', stream, '>'] as const
        pipeline.xreadgroup(
          'GROUP',
          group,
          consumer,
          'COUNT',
          task.pageSize,
          'BLOCK',
          block,
          ...from,
        )
      }
      const [error, reply] = (await pipeline.exec())?.at(-1) ?? []
      if (error != null) throw error
      // Claimed ones come as the second element, read ones with their stream's name.
      const entries = isTime
        ? (reply as readonly [string, readonly Entry[]])[1]
        : ((reply as readonly (readonly [string, readonly Entry[]])[] | null)?.[0]?.[1] ?? [])
      if (entries.length > 0) accept(entries)
    },
    async close() {
      await acknowledging().exec()
      redis.disconnect()
    },
  })
}
