import { commonKeys, lsn, type FeedRange } from '@tidemark/contracts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { missedUpTo } from '../feed/reader-position.ts'
import {
  cutHorizons,
  horizonAt,
  horizonsOf,
  horizonsText,
  parseHorizons,
  raiseHorizon,
  type Horizon,
  type Horizons,
} from './horizons.ts'

const bound = fc.integer({ min: 0, max: 8 })
const range: fc.Arbitrary<FeedRange> = fc
  .tuple(bound, bound)
  .filter(([a, b]) => a !== b)
  .map(([a, b]) => ({ minInclusive: `0${Math.min(a, b)}`, maxExclusive: `0${Math.max(a, b)}` }))
const purge = fc.record({ range, lsn: fc.integer({ min: 1, max: 9 }) })
/** Of a pkrange's life: each purge has a newer stamp than those before. */
const purges = fc
  .array(purge, { maxLength: 12 })
  .map((list) => list.map((each, index): Horizon => ({ ...each, stamp: index + 1 })))
const reader = fc.record({ range, at: fc.nat(9), known: fc.nat(12) })

function raiseAll(list: readonly Horizon[]): Horizons {
  return list.reduce<Horizons>(raiseHorizon, [])
}

/** What a reader is told that it missed. */
function missed(horizons: Horizons, each: { range: FeedRange; at: number; known: number }) {
  const position = { range: each.range, epoch: 0, lsn: lsn(each.at), purgeStamp: each.known }
  return missedUpTo(position, horizonsOf(horizons, each.range))
}

const LOW: FeedRange = { minInclusive: '', maxExclusive: '40' }
const HIGH: FeedRange = { minInclusive: '40', maxExclusive: 'FF' }

describe('TTL-15 horizons', () => {
  test('a purge that lies lower than one before does not hide it', () => {
    const [high, low] = [
      { range: LOW, lsn: 9, stamp: 1 },
      { range: LOW, lsn: 4, stamp: 2 },
    ]
    expect(raiseHorizon([high], low)).toEqual([high, low])
  })

  test('a purge of some keys leaves what is known of others', () => {
    const [low, all] = [
      { range: LOW, lsn: 3, stamp: 1 },
      { range: { minInclusive: '', maxExclusive: 'FF' }, lsn: 9, stamp: 1 },
    ]
    const high = { range: HIGH, lsn: 7, stamp: 2 }
    expect(raiseHorizon([low], high)).toEqual([low, high])
    expect(raiseHorizon([all], high)).toEqual([all, high])
  })

  test('one part that is purged again and again has one horizon', () => {
    const again = Array.from({ length: 20 }, (_, n) => [LOW, HIGH].map((part) => ({ part, n })))
    const raised = again.flat().map(({ part, n }, index) => {
      return { range: part, lsn: 1 + (n >> 1), stamp: index + 1 }
    })
    expect(raiseAll(raised)).toEqual(raised.slice(-2))
  })

  test('every reader misses what it would miss if nothing had been forgotten', () => {
    fc.assert(
      fc.property(purges, fc.array(reader, { minLength: 1 }), (list, readers) => {
        const horizons = raiseAll(list)
        for (const each of readers) {
          expect(missed(horizons, each)).toBe(missed(list, each))
          expect(horizonAt(horizons, each.range)).toBe(horizonAt(list, each.range))
        }
      }),
    )
  })

  test("a split range's children tell each of their readers what the parent would", () => {
    fc.assert(
      fc.property(purges, range, reader, (list, child, each) => {
        const horizons = cutHorizons(raiseAll(list), child)
        for (const { range: part } of horizons) expect(commonKeys(part, child)).toEqual(part)
        const inside = commonKeys(each.range, child)
        if (inside === undefined) return
        expect(missed(horizons, { ...each, range: inside })).toBe(
          missed(list, { ...each, range: inside }),
        )
      }),
    )
  })

  test('come back from their text as they went in', () => {
    fc.assert(
      fc.property(purges, (list) => {
        expect(parseHorizons(horizonsText(list))).toEqual(list)
      }),
    )
  })
})
