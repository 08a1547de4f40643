import { staged } from './run-staged.ts'
import type { Scenario } from './scenario.ts'
import {
  clockBackUnderDocuments,
  clockBackUnderRedis,
  cutWithClockStep,
} from './scenarios/clock-faults.ts'
import { clusterFailOver, clusterSlotMoves } from './scenarios/cluster-faults.ts'
import { cutFromRedis, cutToRedis, halfOpen, resets } from './scenarios/connection-faults.ts'
import {
  leaseDocumentDeleted,
  leaseDocumentOverwritten,
  leaseFieldDeleted,
} from './scenarios/damaged-leases.ts'
import { joinLeaveStorm } from './scenarios/fleet-changes.ts'
import {
  observerDeaf,
  observerHanging,
  observerSlow,
  observerStuck,
  observerThrowing,
} from './scenarios/observer-faults.ts'
import { blockLong, blockShort, kill, stopLong, stopShort } from './scenarios/process-faults.ts'
import { largeWrites, readersHoldLog } from './scenarios/large-writes.ts'
import { ranges, type RangesOptions } from './scenarios/ranges.ts'
import {
  redisClientPause,
  redisEmptied,
  redisFlushed,
  redisKilledLogAlways,
  redisKilledLogEverySecond,
  redisRolledBack,
  redisSecondLost,
  redisStopped,
} from './scenarios/redis-outages.ts'
import { clientKill, outOfMemory, readOnly, scriptFlush } from './scenarios/redis-refusals.ts'
import { sentinelFailOver } from './scenarios/sentinel-fail-over.ts'
import { storeFolderAway } from './scenarios/store-folder.ts'
import { storeCopiedBack, storeRestored } from './scenarios/store-restored.ts'

const STAGED = [
  sentinelFailOver,
  redisStopped,
  redisClientPause,
  stopShort,
  stopLong,
  kill,
  blockShort,
  blockLong,
  resets,
  halfOpen,
  cutToRedis,
  cutFromRedis,
  clockBackUnderDocuments,
  clockBackUnderRedis,
  cutWithClockStep,
  leaseDocumentDeleted,
  leaseDocumentOverwritten,
  leaseFieldDeleted,
  redisKilledLogAlways,
  redisKilledLogEverySecond,
  redisSecondLost,
  redisRolledBack,
  redisEmptied,
  redisFlushed,
  scriptFlush,
  readOnly,
  outOfMemory,
  clientKill,
  clusterFailOver,
  clusterSlotMoves,
  joinLeaveStorm,
  storeFolderAway,
  largeWrites,
  readersHoldLog,
  storeRestored,
  storeCopiedBack,
  observerSlow,
  observerThrowing,
  observerHanging,
  observerDeaf,
  observerStuck,
]

/** Every scenario of the campaign. */
export function allScenarios(rangesMs: number): readonly Scenario[] {
  const kinds: readonly RangesOptions['leases'][] = ['documents', 'redis']
  return [
    ...STAGED.map((scenario) => staged(scenario)),
    ...kinds.map((leases) => ranges({ durationMs: rangesMs, leases })),
  ]
}
