import { SimulationFailedError } from '@tidemark/testing/simulation'
import { CarefulPoints, CarelessPoints } from './points-observers.ts'
import { simulatePoints } from './simulate-points.ts'

const SEEDS = 200

try {
  await simulatePoints((query) => new CarelessPoints(query), SEEDS)
  console.log('the mistake was not found')
  process.exitCode = 1
} catch (error) {
  if (!(error instanceof SimulationFailedError)) throw error
  console.log(`CarelessPoints: ${error.message}\n`)
}

const report = await simulatePoints((query) => new CarefulPoints(query), SEEDS)
console.log(
  `CarefulPoints: ${report.schedules} schedules, ${report.changes} orders, ${report.deliveredAgain} delivered again, all right`,
)
