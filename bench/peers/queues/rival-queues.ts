import { callsScenario } from '../../messaging/calls.ts'
import { CONNECTIONS } from '../../messaging/ground.ts'
import { RatesOfCalls } from '../../messaging/queue-rates.ts'
import type { Scenario } from '../../measuring/scenario.ts'
import { BullmqQueue } from './bullmq-queue.ts'
import { PgBossQueue } from './pg-boss-queue.ts'

/** Our queues beside those of other products, on what is as durable as ours. */
export const RIVAL_QUEUES: readonly Scenario[] = [
  callsScenario('sqlite', {
    name: 'BullMQ, Redis with appendfsync always',
    goal: { single: 2, batch: 2 },
    start: () => BullmqQueue.start(),
  }),
  callsScenario('postgres', {
    name: 'pg-boss on the same server',
    goal: { single: 3, batch: 1.2 },
    start: async (ground) =>
      new RatesOfCalls(await PgBossQueue.create(await ground.newPlace(), CONNECTIONS)),
  }),
]
