import type { Scenario } from '../measuring/scenario.ts'
import { BARE, callsScenario } from '../messaging/calls.ts'
import { postgresHotRange } from '../postgres/hot-range.ts'
import { eventLoop } from './event-loop.ts'
import { expirySweep } from './expiry-sweep.ts'
import { feedRead } from './feed-read.ts'
import { lanesSpeedup } from './lanes-speedup.ts'
import { observerInProcess } from './observer-in-process.ts'
import { split } from './split.ts'
import { threadsSpeedup } from './threads-speedup.ts'
import { writeBulk } from './write-bulk.ts'
import { writeMany } from './write-many.ts'
import { writeOne } from './write-one.ts'

/** Each guards a figure of docs/performance.md. In the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  writeOne,
  writeMany,
  writeBulk,
  feedRead,
  observerInProcess,
  lanesSpeedup,
  threadsSpeedup,
  expirySweep,
  split,
  eventLoop,
  postgresHotRange,
  callsScenario('sqlite', BARE.sqlite),
  callsScenario('postgres', BARE.postgres),
]
