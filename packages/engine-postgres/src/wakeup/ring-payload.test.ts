import { expect, test } from 'vitest'
import { parseRing, ringPayload } from './ring-payload.ts'

test('a ring says who rings, how far which ranges have come, and which entities have changed', () => {
  const ranges = [
    { collection: 1, range: 0, lsn: 22 },
    { collection: 2, range: 3, lsn: 9_007_199_254_740_991 },
  ]
  for (const [entities, payload] of [
    [[], 'a1:1/0/22,2/3/9007199254740991'],
    [
      [
        { entity: 7, returned: undefined },
        { entity: 81, returned: 12 },
      ],
      'a1:1/0/22,2/3/9007199254740991,m7,m81/12',
    ],
  ] as const) {
    const ring = { origin: 'a1', touched: { ranges, entities } }
    expect(ringPayload(ring)).toBe(payload)
    expect(parseRing(payload)).toEqual(ring)
  }
  expect(parseRing('a1:m7')).toEqual({
    origin: 'a1',
    touched: { ranges: [], entities: [{ entity: 7, returned: undefined }] },
  })
  const anything = { origin: '', touched: 'anything' } as const
  expect(parseRing(ringPayload(anything))).toEqual(anything)
})

test('more ranges than a payload can name are not named', () => {
  const ranges = Array.from({ length: 2_000 }, (_, index) => {
    return { collection: 1, range: index, lsn: 1_000_000 }
  })
  expect(ringPayload({ origin: 'a1', touched: { ranges, entities: [] } })).toBe('a1:')
  const few = { ranges: ranges.slice(0, 400), entities: [] }
  const payload = ringPayload({ origin: 'a1', touched: few })
  expect(payload.length).toBeLessThan(7_100)
  expect(parseRing(payload).touched).toEqual(few)
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
    'a:m',
    'a:mm1',
    'a:m1/',
    'a:m1/2/3',
    'a:1/2/3,m',
    `a:1/2/${'9'.repeat(30)}`,
    '?token',
  ]) {
    expect(parseRing(payload).touched).toBe('anything')
  }
})
