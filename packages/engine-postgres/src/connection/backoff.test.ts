import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

const random = (fraction: number) => ({ fraction: () => fraction, hex: () => '' })

test('the pause doubles from 20 ms to 1 s, half of it by chance', () => {
  const least = [1, 2, 3, 7, 100].map((attempt) => backoffMs(attempt, random(0)))
  expect(least).toEqual([10, 20, 40, 500, 500])
  const most = [1, 2, 3, 7, 100].map((attempt) => backoffMs(attempt, random(1)))
  expect(most).toEqual([20, 40, 80, 1000, 1000])
})
