import { beforeAll, expect, test } from 'vitest'
import { lineOf } from './report.ts'
import { staged } from './run-staged.ts'
import { ScenarioQueue } from './scenario-queue.ts'
import type { StagedScenario } from './scenario.ts'
import { clusterSlotMoves } from './scenarios/cluster-faults.ts'
import { observerDeaf } from './scenarios/observer-faults.ts'
import { blockLong } from './scenarios/process-faults.ts'
import { redisRolledBack, redisStopped } from './scenarios/redis-outages.ts'
import { sentinelFailOver } from './scenarios/sentinel-fail-over.ts'
import { storeFolderAway } from './scenarios/store-folder.ts'

// What `npm run faults` does with all scenarios, with the most telling of those that no test of their own shows.

const SLICE: readonly (readonly [string, StagedScenario])[] = [
  [
    'PH-4 PH-10 Sentinel fail-over under load to a replica that is behind: nothing lost, duplicates within the bound',
    sentinelFailOver,
  ],
  ['LE-4 PH-10 Redis stalled for 10 heartbeats: no lease moves', redisStopped],
  ['PH-4 LE-3 Redis comes back with an older log: nothing lost or out of order', redisRolledBack],
  [
    'LE-2 the slot of the group moves between masters of a Redis Cluster: no lease moves',
    clusterSlotMoves,
  ],
  [
    'LE-11 an event loop blocked for longer than the session dispatches nothing of what it lost',
    blockLong,
  ],
  [
    'PH-2 PH-11 an observer that hangs and ignores its abort keeps its host from nothing',
    observerDeaf,
  ],
  [
    'PH-10 the folder of the store is away: who starts is refused, who runs recovers',
    storeFolderAway,
  ],
]

let queue: ScenarioQueue | undefined
beforeAll(() => {
  const scenarios = SLICE.map(([, scenario]) => staged(scenario))
  queue = new ScenarioQueue(scenarios, { atOnce: 2, seed: Date.now() })
})

test.for(SLICE)('%s', async ([, { name }]) => {
  const result = await queue?.result(name)
  if (result === undefined) throw new Error('nothing runs')
  console.log(lineOf(result))
  expect(result.wrong).toEqual([])
})
