import {
  effectivePartitionKey,
  evenRanges,
  partitionKeyDefinition,
  rangeContainsEpk,
} from '@tidemark/contracts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rangeHolding, rangeOfEpk, singleEpkRange } from './range-lookup.ts'

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
