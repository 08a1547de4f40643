import type { Scenario } from '../measuring/scenario.ts'
import { bytesPerLiveByte } from './bytes-per-live-byte.ts'
import { estimatorCall } from './estimator-call.ts'
import { eventLoop } from './event-loop.ts'
import { expirySweep } from './expiry-sweep.ts'
import { feedReadFolded } from './feed-read-folded.ts'
import { feedRead } from './feed-read.ts'
import { lanesSpeedup } from './lanes-speedup.ts'
import { latencyInProcess } from './latency-in-process.ts'
import { latencyOtherProcess } from './latency-other-process.ts'
import { observerInProcess } from './observer-in-process.ts'
import { observerOtherProcess } from './observer-other-process.ts'
import { pendingDeleteRead } from './pending-delete-read.ts'
import { pointRead } from './point-read.ts'
import { poisonDocs } from './poison-docs.ts'
import { sizeAfterOverwrites } from './size-after-overwrites.ts'
import { slowDisk } from './slow-disk.ts'
import { split } from './split.ts'
import { telemetry } from './telemetry.ts'
import { threadsSpeedup } from './threads-speedup.ts'
import { ttlWriteOverhead } from './ttl-write-overhead.ts'
import { viewCounts } from './view-counts.ts'
import { wakeOtherProcess } from './wake-other-process.ts'
import { writeBatch } from './write-batch.ts'
import { writeBesideScan } from './write-beside-scan.ts'
import { writeBulk } from './write-bulk.ts'
import { writeMany } from './write-many.ts'
import { writeOne } from './write-one.ts'
import { writingProcesses } from './writing-processes.ts'

/** In the order of the report. */
export const SCENARIOS: readonly Scenario[] = [
  writeOne,
  writeMany,
  writeBatch,
  writeBulk,
  writeBesideScan,
  writingProcesses,
  slowDisk,
  pointRead,
  feedRead,
  observerInProcess,
  observerOtherProcess,
  lanesSpeedup,
  poisonDocs,
  threadsSpeedup,
  telemetry,
  viewCounts,
  estimatorCall,
  latencyInProcess,
  latencyOtherProcess,
  wakeOtherProcess,
  sizeAfterOverwrites,
  expirySweep,
  pendingDeleteRead,
  ttlWriteOverhead,
  split,
  feedReadFolded,
  bytesPerLiveByte,
  eventLoop,
]
