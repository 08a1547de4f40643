import { expect, test } from 'vitest'
import { parseRing, ringPayload } from './ring-payload.ts'

test('a ring says who rings and how far which ranges have come', () => {
  const touched = [
    { collection: 1, range: 0, lsn: 22 },
    { collection: 2, range: 3, lsn: 9_007_199_254_740_991 },
  ]
  expect(ringPayload({ origin: 'a1', touched })).toBe('a1:1/0/22,2/3/9007199254740991')
  expect(parseRing('a1:1/0/22,2/3/9007199254740991')).toEqual({ origin: 'a1', touched })
  expect(parseRing(ringPayload({ origin: '', touched: [] }))).toEqual({ origin: '', touched: [] })
})

test('more ranges than a payload can name are not named', () => {
  const touched = Array.from({ length: 2_000 }, (_, index) => {
    return { collection: 1, range: index, lsn: 1_000_000 }
  })
  expect(ringPayload({ origin: 'a1', touched })).toBe('a1:')
  const few = ringPayload({ origin: 'a1', touched: touched.slice(0, 400) })
  expect(few.length).toBeLessThan(7_100)
  expect(parseRing(few).touched).toHaveLength(400)
})

test('a payload that is not understood names everything', () => {
  for (const payload of [
    '',
    'x',
    'a:b',
    'a:1,,2,',
    'a:1',
    'a:1/2',
    'a:1/2/',
    'a:1/2/3/4',
    `a:1/2/${'9'.repeat(30)}`,
    '?token',
  ]) {
    expect(parseRing(payload).touched).toEqual([])
  }
})
