import { expect, test } from 'vitest'
import { parseRing, ringPayload } from './ring-payload.ts'

test('a ring says who rings and which segments were written to', () => {
  const ring = { origin: 'a1', segments: [1, 22, 333] }
  expect(ringPayload(ring)).toBe('a1:1,22,333')
  expect(parseRing('a1:1,22,333')).toEqual(ring)
  expect(parseRing(ringPayload({ origin: '', segments: [] }))).toEqual({ origin: '', segments: [] })
})

test('more segments than a payload can name are not named', () => {
  const segments = Array.from({ length: 2_000 }, (_, index) => 1_000_000 + index)
  expect(ringPayload({ origin: 'a1', segments })).toBe('a1:')
  const few = ringPayload({ origin: 'a1', segments: segments.slice(0, 800) })
  expect(few.length).toBeLessThan(7_100)
  expect(parseRing(few).segments).toHaveLength(800)
})

test('a payload that is not understood names everything', () => {
  for (const payload of ['', 'x', 'a:b', 'a:1,,2,', `a:${'9'.repeat(30)}`, '?token']) {
    expect(parseRing(payload).segments).toEqual([])
  }
})
