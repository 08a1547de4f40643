import type { Scenario } from '../measuring/scenario.ts'
import type { GroundEngine } from './ground.ts'
import { callsScenario } from './scenarios/calls.ts'
import { expiringScenario } from './scenarios/expiring.ts'
import { heldTransactionScenario } from './scenarios/held-transaction.ts'
import { idleScenario } from './scenarios/idle.ts'
import { latencyScenario } from './scenarios/latency.ts'
import { scheduledScenario } from './scenarios/scheduled.ts'
import { sessionsScenario } from './scenarios/sessions.ts'
import { topicScenario } from './scenarios/topic.ts'
import { waitingScenario } from './scenarios/waiting.ts'

/** Queues and topics, in the order of the report. Each scenario starts the servers that it needs. */
export function messagingScenarios(engine: GroundEngine): readonly Scenario[] {
  return [
    callsScenario({ engine, callers: 1, batch: 1 }),
    callsScenario({ engine, callers: 16, batch: 1 }),
    callsScenario({ engine, callers: 64, batch: 1 }),
    callsScenario({ engine, callers: 1, batch: 100 }),
    callsScenario({ engine, callers: 16, batch: 100 }),
    latencyScenario(engine),
    sessionsScenario(engine),
    topicScenario(engine),
    scheduledScenario(engine),
    expiringScenario(engine),
    waitingScenario(engine),
    ...(engine === 'postgres' ? [heldTransactionScenario] : []),
    idleScenario(engine),
  ]
}
