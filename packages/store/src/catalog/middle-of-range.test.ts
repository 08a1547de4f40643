import {
  FULL_RANGE,
  effectivePartitionKey,
  partitionKeyDefinition,
  rangeContainsEpk,
} from '@tidemark/contracts'
import { evenRanges } from '@tidemark/contracts/internal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { middleOfRange } from './middle-of-range.ts'

const DEFINITIONS = [
  partitionKeyDefinition('/a'),
  partitionKeyDefinition(['/a', '/b']),
  partitionKeyDefinition(['/a', '/b', '/c']),
  partitionKeyDefinition(['/a'], 1),
]

test('ST-9 the middle of everything is the bound between two even ranges', () => {
  for (const definition of DEFINITIONS) {
    expect(middleOfRange(FULL_RANGE, definition)).toBe(evenRanges(2, definition)[1]?.minInclusive)
  }
})

test('ST-9 the middle lies inside, and splits of splits share keys out evenly', () => {
  for (const definition of DEFINITIONS) {
    let ranges = [FULL_RANGE]
    for (let depth = 0; depth < 3; depth++) {
      ranges = ranges.flatMap((range) => {
        const at = middleOfRange(range, definition) ?? ''
        expect(range.minInclusive < at && at < range.maxExclusive).toBe(true)
        return [
          { minInclusive: range.minInclusive, maxExclusive: at },
          { minInclusive: at, maxExclusive: range.maxExclusive },
        ]
      })
    }
    const epks = Array.from({ length: 4000 }, (_, n) =>
      effectivePartitionKey(
        definition.paths.map((__, part) => `key ${n} ${part}`),
        definition,
      ),
    )
    for (const range of ranges) {
      const share = epks.filter((epk) => rangeContainsEpk(range, epk)).length / epks.length
      expect(share).toBeGreaterThan(0.09)
      expect(share).toBeLessThan(0.16)
    }
  }
})

test('ST-9 of any two keys, a range that holds both can be split, and one that holds one cannot', () => {
  const key = fc.tuple(fc.string(), fc.string())
  fc.assert(
    fc.property(key, key, fc.constantFrom(...DEFINITIONS.slice(0, 2)), (one, two, definition) => {
      const epkOf = (value: readonly string[]): string =>
        effectivePartitionKey(value.slice(0, definition.paths.length), definition)
      const [low = '', high = ''] = [epkOf(one), epkOf(two)].toSorted()
      const single = { minInclusive: low, maxExclusive: `${low}00` }
      expect(middleOfRange(single, definition)).toBeUndefined()
      if (low === high) return
      const both = { minInclusive: low, maxExclusive: `${high}00` }
      const at = middleOfRange(both, definition) ?? ''
      expect(low < at && at <= high).toBe(true)
    }),
  )
})
