import { expect, test } from 'vitest'
import { systemRandom } from './system-random.ts'

test('each identity has as many digits as were asked for, and none comes twice', () => {
  const sizes = [10, 16, 100, 4096, 5000]
  const seen = new Set<string>()
  for (let turn = 0; turn < 1000; turn++) {
    for (const bytes of sizes) {
      const text = systemRandom.hex(bytes)
      expect(text).toMatch(/^[0-9a-f]+$/)
      expect(text).toHaveLength(2 * bytes)
      // Also no part of an earlier one: the portions from which they are cut do not overlap.
      seen.add(text.slice(0, 20))
      seen.add(text.slice(-20))
    }
  }
  // The two ends of the shortest are the same digits.
  expect(seen.size).toBe(1000 * (2 * sizes.length - 1))
})
