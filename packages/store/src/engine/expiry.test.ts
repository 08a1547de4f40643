import { expect, test } from 'vitest'
import { expiredSecond, expirySecond, neverExpires, type TtlPolicy } from './expiry.ts'

test('TTL-3 a document expires by its own time to live, else by the default, and never with either -1', () => {
  const cases: readonly (readonly [defaultTtl: number | null, ttl: number, second: number])[] = [
    [null, 0, 0],
    [null, 5, 0],
    [-1, 0, 0],
    [-1, 5, 105],
    [9, 0, 109],
    [9, 5, 105],
    [9, -1, 0],
  ]
  for (const [defaultTtl, ttl, second] of cases) {
    expect(expirySecond({ ts: 100, ttl }, defaultTtl)).toBe(second)
  }
})

test('TTL-4 a document has expired from its very second on', () => {
  const policy: TtlPolicy = { defaultTtl: 5, eras: [] }
  expect(expiredSecond({ ts: 100, ttl: 0 }, policy, 104_999)).toBe(0)
  expect(expiredSecond({ ts: 100, ttl: 0 }, policy, 105_000)).toBe(105)
})

test('TTL-18 what expired under a past policy stays expired, at the earliest of its seconds', () => {
  const row = { ts: 100, ttl: 0 }
  const second = (policy: TtlPolicy): number => expiredSecond(row, policy, 200_000)
  // Over just before it expired, and in the very millisecond.
  expect(second({ defaultTtl: null, eras: [{ defaultTtl: 5, untilMs: 104_999 }] })).toBe(0)
  expect(second({ defaultTtl: null, eras: [{ defaultTtl: 5, untilMs: 105_000 }] })).toBe(105)
  const eras = [
    { defaultTtl: 30, untilMs: 150_000 },
    { defaultTtl: 10, untilMs: 150_000 },
    { defaultTtl: 20, untilMs: 150_000 },
  ]
  expect(second({ defaultTtl: 40, eras })).toBe(110)
  expect(second({ defaultTtl: 7, eras })).toBe(107)
  expect(second({ defaultTtl: -1, eras })).toBe(110)
})

test('only a collection without time to live, now and in the past, need not be asked', () => {
  const eras = [{ defaultTtl: 5, untilMs: 1 }]
  expect(neverExpires({ defaultTtl: null, eras: [] })).toBe(true)
  expect(neverExpires({ defaultTtl: null, eras })).toBe(false)
  // Documents may have one of their own.
  expect(neverExpires({ defaultTtl: -1, eras: [] })).toBe(false)
})
