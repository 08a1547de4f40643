import type { Scenario } from '../measuring/scenario.ts'
import type { GroundEngine } from './ground.ts'
import { callsScenario } from './scenarios/calls.ts'

/** Queues and topics, in the order of the report. Each scenario starts the servers that it needs. */
export function messagingScenarios(engine: GroundEngine): readonly Scenario[] {
  return [
    callsScenario({ engine, callers: 1, batch: 1 }),
    callsScenario({ engine, callers: 16, batch: 1 }),
    callsScenario({ engine, callers: 64, batch: 1 }),
    callsScenario({ engine, callers: 1, batch: 100 }),
    callsScenario({ engine, callers: 16, batch: 100 }),
  ]
}
