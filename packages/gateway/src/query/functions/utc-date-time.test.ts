import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDateTime, momentOfParts, parseDateTime, partsOfMoment } from './utc-date-time.ts'

const first = Date.UTC(1970, 0, 1) - 62_135_596_800_000
const last = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

describe('the calendar', () => {
  test('agrees with that of JavaScript over the years 1 to 9999', () => {
    fc.assert(
      fc.property(fc.integer({ min: first, max: last }), fc.nat(9999), (ms, ticks) => {
        const date = new Date(ms)
        const parts = partsOfMoment({ ms, ticks })
        expect(parts).toEqual({
          year: date.getUTCFullYear(),
          month: date.getUTCMonth() + 1,
          day: date.getUTCDate(),
          hour: date.getUTCHours(),
          minute: date.getUTCMinutes(),
          second: date.getUTCSeconds(),
          fraction: date.getUTCMilliseconds() * 10_000 + ticks,
        })
        expect(parts && momentOfParts(parts)).toEqual({ ms, ticks })
        expect(parseDateTime(formatDateTime({ ms, ticks }) ?? '')).toEqual({ ms, ticks })
      }),
    )
  })

  test('has no other years', () => {
    expect(formatDateTime({ ms: first - 1, ticks: 0 })).toBeUndefined()
    expect(formatDateTime({ ms: last + 1, ticks: 0 })).toBeUndefined()
    expect(formatDateTime({ ms: Number.NaN, ticks: 0 })).toBeUndefined()
  })

  test.each([
    '2023-02-29',
    '2024-13-01',
    '2024-00-01',
    '2024-01-32',
    '2024-01-01T24:00:00Z',
    '24-1-1',
    '',
  ])('has no %j', (text) => {
    expect(parseDateTime(text)).toBeUndefined()
  })
})
