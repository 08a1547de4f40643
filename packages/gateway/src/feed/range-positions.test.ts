import { expect, test } from 'vitest'
import { MAX_RANGES_IN_TURN, parseRangesEtag, positionIn, rangesEtag } from './range-positions.ts'

const POSITIONS = new Map([
  [2, 9],
  [0, 5],
])

test('CF-8 an etag gives back the positions, and their order', () => {
  expect(rangesEtag(POSITIONS)).toBe('"2:9,0:5"')
  for (const etag of ['"2:9,0:5"', '2:9,0:5']) {
    expect([...(parseRangesEtag(etag) ?? [])]).toEqual([...POSITIONS])
  }
})

test.each(['"9"', '""', '"1:"', '"1:2,"', '"a:1"', '"1:-1"', '*'])('%s is no such etag', (etag) => {
  expect(parseRangesEtag(etag)).toBeUndefined()
})

test('an etag of more ranges than are read in turn is none', () => {
  const of = (count: number) =>
    rangesEtag(new Map(Array.from({ length: count }, (_, number) => [number, 1])))
  expect(parseRangesEtag(of(MAX_RANGES_IN_TURN))?.size).toBe(MAX_RANGES_IN_TURN)
  expect(parseRangesEtag(of(MAX_RANGES_IN_TURN + 1))).toBeUndefined()
})

test('ST-9 a range goes on from its own position, else from a parent, merged ones from the lowest', () => {
  expect(positionIn(POSITIONS, { number: 2, parents: [0] })).toBe(9)
  expect(positionIn(POSITIONS, { number: 7, parents: [2] })).toBe(9)
  expect(positionIn(POSITIONS, { number: 8, parents: [0, 2] })).toBe(5)
  expect(() => positionIn(POSITIONS, { number: 1, parents: [] })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_CONTINUATION' }),
  )
})
