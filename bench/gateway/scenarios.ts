import type { Scenario } from '../measuring/scenario.ts'
import { feedOverHttp } from './feed-over-http.ts'
import { pointCalls } from './point-calls.ts'
import { startUp } from './start-up.ts'

/** Of `--gateway`, in the order of the report. */
export const GATEWAY_SCENARIOS: readonly Scenario[] = [feedOverHttp, pointCalls, startUp]
