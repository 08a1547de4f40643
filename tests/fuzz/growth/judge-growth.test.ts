import { expect, test } from 'vitest'
import { growthFault, type GrowthSample } from './judge-growth.ts'

const samples = (timeOf: (chars: number) => number, stretchMs = 1): readonly GrowthSample[] =>
  [1024, 2048, 4096, 8192].map((chars) => ({ chars, processorMs: timeOf(chars), stretchMs }))

test('time that grows with the text is right; time that grows faster is a fault, and so is a loop that is held', () => {
  expect(growthFault(samples((chars) => 5 + chars / 100))).toBeUndefined()
  expect(growthFault(samples((chars) => chars ** 2 / 500_000))).toBe(
    '4096 characters take 33.6 ms, 8192 take 134.2 ms',
  )
  expect(growthFault(samples(() => 60, 51))).toBe('1024 characters hold the loop for 51 ms')
})
