import { expect, test } from 'vitest'
import { effectiveTtlMs, expiryMs, LATEST_MS } from './effective-ttl.ts'

test.each([
  ['EXP-09 the default, when the message has none', [undefined, 2000], 2000],
  ['EXP-10 the default is a ceiling', [3_600_000, 2000], 2000],
  ['EXP-11 a shorter one stays', [1500, 3_600_000], 1500],
  ['EXP-12 none anywhere means never', [undefined, undefined, undefined], undefined],
  ["EXP-13 a topic's smaller one", [undefined, 2000, 3_600_000], 2000],
  ["EXP-14 a subscription's smaller one", [60_000, 3_600_000, 2000], 2000],
  ['EXP-19 zero is a TTL', [0, 2000], 0],
  ['EXP-12 the largest is kept', [Number.MAX_SAFE_INTEGER, undefined], Number.MAX_SAFE_INTEGER],
])('%s', (_, ttls, expected) => {
  expect(effectiveTtlMs(...ttls)).toBe(expected)
})

test('EXP-01 expiry counts from the enqueue', () => {
  expect(expiryMs(1000, 60_000)).toBe(61_000)
  expect(expiryMs(1000, 0)).toBe(1000)
})

test('EXP-12 without a TTL there is no expiry, and no TTL leads beyond the year 9999', () => {
  expect(expiryMs(1000, undefined)).toBeUndefined()
  expect(expiryMs(1000, Number.MAX_SAFE_INTEGER)).toBe(LATEST_MS)
  expect(expiryMs(LATEST_MS, 1)).toBe(LATEST_MS)
  expect(new Date(LATEST_MS).toISOString()).toBe('9999-12-31T23:59:59.999Z')
})
