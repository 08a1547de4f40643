import { expect, test } from 'vitest'
import { formatDuration, formatOptionalDuration, MAX_DURATION, readDuration } from './duration.ts'

const DAY_MS = 86_400_000

test.each([
  ['PT0S', 0],
  ['PT1S', 1000],
  ['PT1.5S', 1500],
  ['PT0,25S', 250],
  ['PT0.001S', 1],
  ['PT0.0009999S', 0],
  ['PT1M30S', 90_000],
  ['PT5M', 300_000],
  ['PT90M', 5_400_000],
  ['PT0.5H', 1_800_000],
  ['P1D', DAY_MS],
  ['P1.5D', 1.5 * DAY_MS],
  ['P1DT2H3M4.567S', DAY_MS + 7_384_567],
  ['P2W', 14 * DAY_MS],
  ['P1WT1S', 7 * DAY_MS + 1000],
  ['p100d', 8_640_000_000],
  ['P10675199DT2H48M5.476S', 922_337_203_685_476],
  ['PT922337203685.476S', 922_337_203_685_476],
])('reads %s as %d ms', (text, ms) => {
  expect(readDuration(text)).toEqual({ ms })
})

test.each([MAX_DURATION, 'P10675199DT2H48M5.477S', 922_337_203_685_477, Number.MAX_SAFE_INTEGER])(
  'reads %s as never',
  (duration) => {
    expect(readDuration(duration)).toEqual({ ms: undefined })
  },
)

test.each([
  ['', 'must be a duration of ISO 8601, such as "PT1M30S", got ""'],
  ['P', 'must be a duration of ISO 8601, such as "PT1M30S", got "P"'],
  ['PT', 'must be a duration of ISO 8601, such as "PT1M30S", got "PT"'],
  ['P1DT', 'must be a duration of ISO 8601, such as "PT1M30S", got "P1DT"'],
  ['5 minutes', 'must be a duration of ISO 8601, such as "PT1M30S", got "5 minutes"'],
  ['-PT5S', 'must be a duration of ISO 8601, such as "PT1M30S", got "-PT5S"'],
  ['PT-5S', 'must be a duration of ISO 8601, such as "PT1M30S", got "PT-5S"'],
  ['PT1S1M', 'must be a duration of ISO 8601, such as "PT1M30S", got "PT1S1M"'],
  [
    'P1M',
    'must be a duration of ISO 8601, such as "PT1M30S" (months and years have no fixed length), got "P1M"',
  ],
  [
    'P1Y2D',
    'must be a duration of ISO 8601, such as "PT1M30S" (months and years have no fixed length), got "P1Y2D"',
  ],
  [
    'P10675199DT2H48M5.4775808S',
    'must be at most P10675199DT2H48M5.4775807S, got "P10675199DT2H48M5.4775808S"',
  ],
  [1.5, 'must be whole milliseconds, or a duration of ISO 8601, got 1.5'],
  [-1, 'must be whole milliseconds, or a duration of ISO 8601, got -1'],
  [Number.NaN, 'must be whole milliseconds, or a duration of ISO 8601, got NaN'],
])('refuses %s', (duration, problem) => {
  expect(readDuration(duration)).toEqual({ problem })
})

test.each([
  [0, 'PT0S'],
  [1, 'PT0.001S'],
  [250, 'PT0.25S'],
  [60_000, 'PT1M'],
  [90_500, 'PT1M30.5S'],
  [5_400_000, 'PT1H30M'],
  [DAY_MS, 'P1D'],
  [14 * DAY_MS, 'P14D'],
  [DAY_MS + 1, 'P1DT0.001S'],
  [8_640_000_000, 'P100D'],
  [922_337_203_685_476, 'P10675199DT2H48M5.476S'],
])('writes %d ms as %s, which is read as the same', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
  expect(readDuration(text)).toEqual({ ms })
})

test('never has no text', () => {
  expect(formatOptionalDuration(undefined)).toBeUndefined()
  expect(formatOptionalDuration(1000)).toBe('PT1S')
})
