import { expect, test } from 'vitest'
import { linearRegression } from './regression.ts'

test('points on a line give its slope, without an error', () => {
  const points = [0, 1, 2, 5].map((x) => ({ x, y: 3 * x - 2 }))
  const line = linearRegression(points)
  expect(line.slope).toBeCloseTo(3)
  expect(line.slopeError).toBeCloseTo(0)
  expect(line.mean).toBeCloseTo(4)
})

test('noise without a trend has a slope within twice its error, and one with a trend has not', () => {
  const noise = (x: number): number => ((x * 7919) % 13) - 6
  const xs = Array.from({ length: 100 }, (_, x) => x)
  const level = linearRegression(xs.map((x) => ({ x, y: 50 + noise(x) })))
  expect(Math.abs(level.slope)).toBeLessThan(2 * level.slopeError)
  const rising = linearRegression(xs.map((x) => ({ x, y: 50 + noise(x) + x })))
  expect(rising.slope).toBeGreaterThan(2 * rising.slopeError)
})

test('too few points say nothing', () => {
  expect(linearRegression([{ x: 1, y: 1 }])).toMatchObject({ slope: 0, slopeError: Infinity })
})
