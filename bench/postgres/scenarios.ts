import type { Scenario } from '../measuring/scenario.ts'
import { postgresDrain } from './scenarios/drain.ts'
import { postgresFeedRead } from './scenarios/feed-read.ts'
import { postgresGrowth } from './scenarios/growth.ts'
import { postgresHotRange } from './scenarios/hot-range.ts'
import { postgresLatency } from './scenarios/latency.ts'
import { sinkRates } from './scenarios/sinks.ts'
import { postgresWrites } from './scenarios/writes.ts'

/** The store on PostgreSQL, in the order of the report. Each starts a server of its own. */
export const POSTGRES_SCENARIOS: readonly Scenario[] = [
  postgresWrites,
  postgresHotRange,
  postgresFeedRead,
  postgresLatency,
  postgresDrain,
  postgresGrowth,
  sinkRates,
]
