import { expect, test } from 'vitest'
import { percentile } from './bystander.ts'

test('a percentile is the least value that no more than the rest are above', () => {
  const values = Array.from({ length: 200 }, (_, n) => n + 1)
  expect([percentile(values, 0.99), percentile(values, 0.5), percentile([5], 0.99)]).toEqual([
    198, 100, 5,
  ])
  expect(percentile([], 0.99)).toBeNaN()
})
