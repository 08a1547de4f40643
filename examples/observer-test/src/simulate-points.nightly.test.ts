import { expect, test } from 'vitest'
import { CarefulPoints, CarelessPoints } from './points-observers.ts'
import { simulatePoints } from './simulate-points.ts'

test('PH-4 two statements where one transaction was needed: found, with the faults that show it', async () => {
  await expect(simulatePoints((query) => new CarelessPoints(query), 200)).rejects.toMatchObject({
    code: 'ERR_SIMULATION_FAILED',
    violation: { oracle: 'check', message: expect.stringContaining('has the wrong points') },
  })
})

test('PH-4 in one transaction every order counts once, however often it comes', async () => {
  const report = await simulatePoints((query) => new CarefulPoints(query), 100)
  expect(report.deliveredAgain).toBeGreaterThan(100)
})
