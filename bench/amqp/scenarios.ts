import type { Scenario } from '../measuring/scenario.ts'
import { idleScenario } from './scenarios/idle.ts'
import { ratesScenario } from './scenarios/rates.ts'
import { tripsScenario } from './scenarios/trips.ts'

/** Of `--amqp`, in the order of the report. */
export const AMQP_SCENARIOS: readonly Scenario[] = [
  ratesScenario('official'),
  ratesScenario('lean'),
  tripsScenario('official'),
  tripsScenario('lean'),
  idleScenario,
]
