import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareRanks, type Rank } from './rank.ts'
import { TopRows } from './top-rows.ts'

const compare = (left: Rank, right: Rank): number => compareRanks(left, right, [])
const rankOf = (key: number, index: number): Rank => ({
  keys: [key],
  tie: String(index),
  ordinal: 0,
})

test('the rows kept are the first ones without a gap, within both bounds', () => {
  const row = fc.record({ key: fc.nat(20), chars: fc.integer({ min: 1, max: 50 }) })
  let gaveUp = 0
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (rows, maxRows) => {
        const top = new TopRows<number>({ maxRows, maxChars: 200, compare })
        const ranks = rows.map(({ key }, index) => rankOf(key, index))
        for (const [index, rank] of ranks.entries()) {
          if (top.admits(rank)) top.add(rank, index, { chars: rows[index]!.chars })
        }
        const kept = top.inOrder()
        expect(kept.map(({ rank }) => rank)).toEqual(ranks.toSorted(compare).slice(0, kept.length))
        expect(kept.length).toBeLessThanOrEqual(maxRows)
        expect(top.overflowed).toBe(kept.length < rows.length)
        const chars = kept.reduce((sum, item) => sum + item.chars, 0)
        expect(chars <= 200 || kept.length === 1).toBe(true)
        expect(kept.length).toBeGreaterThanOrEqual(Math.min(rows.length, 1))
        if (top.overflowed && kept.length < maxRows) gaveUp++
      },
    ),
    { numRuns: 500 },
  )
  expect(gaveUp).toBeGreaterThan(10)
})
