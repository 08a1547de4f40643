import { expect, test } from 'vitest'
import { failureDelayMs } from './failure-delay.ts'

test('the wait after failures doubles up to a minute, half of it random', () => {
  expect([1, 2, 3, 10, 1000].map((failures) => failureDelayMs(failures, 1))).toEqual([
    1000, 2000, 4000, 60_000, 60_000,
  ])
  expect(failureDelayMs(3, 0)).toBe(2000)
})
