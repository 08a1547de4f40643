import {
  effectivePartitionKey,
  partitionKeyDefinition,
  rangeContainsEpk,
} from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rangeHolding, rangeNumbered, rangeOfEpk, singleEpkRange } from './range-lookup.ts'

test('ST-1 every key is in the range that is found for it', () => {
  const definitions = fc.constantFrom(
    partitionKeyDefinition('/a'),
    partitionKeyDefinition('/a', 1),
    partitionKeyDefinition(['/a', '/b']),
  )
  const component = fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.constant(null))
  fc.assert(
    fc.property(
      definitions,
      component,
      fc.integer({ min: 1, max: 40 }),
      (definition, value, count) => {
        const ranges = evenRanges(count, definition)
        const epk = effectivePartitionKey(
          definition.paths.map(() => value),
          definition,
        )
        const found = rangeOfEpk(ranges, epk)
        expect(rangeContainsEpk(found, epk)).toBe(true)
        expect(rangeHolding(ranges, singleEpkRange(epk))).toBe(found)
      },
    ),
  )
})

test('ST-9 a range that is in no single one names those that cover it', () => {
  const ranges = evenRanges(4, partitionKeyDefinition('/a'))
  const [first, second] = ranges
  const across = { minInclusive: '01', maxExclusive: second?.maxExclusive ?? '' }
  expect(() => rangeHolding(ranges, across)).toThrow(
    expect.objectContaining({ code: 'ERR_RANGE_GONE', successors: [first, second] }),
  )
})

test('ST-9 a range that is gone by its number names every range that came of it', () => {
  const range = (number: number, min: string, max: string, ...parents: number[]) => ({
    number,
    parents,
    minInclusive: min,
    maxExclusive: max,
  })
  const ranges = [range(3, '', '20', 0, 1), range(4, '20', '40', 0, 1), range(2, '40', 'FF')]
  expect(rangeNumbered(ranges, 4)).toBe(ranges[1])
  const successors = [
    { minInclusive: '', maxExclusive: '20' },
    { minInclusive: '20', maxExclusive: '40' },
  ]
  // Also the grandchildren of one: it was split, and its part was split again.
  for (const [gone, came] of [
    [0, successors],
    [1, successors],
    [9, []],
  ] as const) {
    expect(() => rangeNumbered(ranges, gone)).toThrow(
      expect.objectContaining({ code: 'ERR_RANGE_GONE', successors: came }),
    )
  }
})
