import { expect, test } from 'vitest'
import { bytes, count, duration, plural, rate } from './format.ts'

test.each([
  [0, '0 ms'],
  [340, '340 ms'],
  [4_230, '4.2 s'],
  [59_999, '59 s'],
  [185_000, '3 min'],
  [7_500_000, '2 h 5 min'],
  [86_400_000, '1 d'],
  [90_000_000, '1 d 1 h'],
])('%d ms are shown as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test('numbers are grouped, and short where they are long', () => {
  expect([count(1234), count(12_345_678), rate(3.14), rate(1_234.5)]).toEqual([
    '1,234',
    '12.3M',
    '3.1/s',
    '1,235/s',
  ])
  expect([bytes(12), bytes(1_536), bytes(15_000_000)]).toEqual(['12 B', '1.5 KiB', '14 MiB'])
  expect([plural(1, 'range'), plural(2, 'range'), plural(0, 'try', 'tries')]).toEqual([
    '1 range',
    '2 ranges',
    '0 tries',
  ])
})
