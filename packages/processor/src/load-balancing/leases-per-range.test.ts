import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  FULL_RANGE,
  divideRange,
  feedRangeId,
  partitionKeyDefinition,
  rangeContains,
  type FeedRange,
} from '@tidemark/contracts'
import {
  BOUNDS_PER_LEASE,
  leasesWithin,
  shapeOf,
  wantedLeasesPerRange,
  type RangeShape,
} from './leases-per-range.ts'

const DEFINITION = partitionKeyDefinition('/key')
const SEED = 20261126

function divide(range: FeedRange, count: number): readonly FeedRange[] {
  return divideRange(range, count, DEFINITION)
}

function shape(leases: readonly FeedRange[], wanted: number): RangeShape {
  const bounds = divide(FULL_RANGE, BOUNDS_PER_LEASE * Math.max(wanted, leases.length))
  return shapeOf(
    leases,
    wanted,
    bounds.map(({ minInclusive }) => minInclusive),
  )
}

/** One step of whoever owns all of them. */
function reshaped(leases: readonly FeedRange[], { cuts, joins }: RangeShape): readonly FeedRange[] {
  const kept = leases.filter((lease) => !joins.some((join) => rangeContains(join, lease)))
  const next = kept.flatMap((lease) => divide(lease, cuts.get(feedRangeId(lease)) ?? 1))
  return leasesWithin([FULL_RANGE], [...next, ...joins])[0]!.within
}

const host = (leasesPerRange: number | undefined, leaving = false) => ({
  profile: { weight: 1, minLeases: 0, maxLeases: 9, leaving, leasesPerRange },
})

test('LE-15 while hosts differ the highest number counts, and that of who leaves does not', () => {
  expect(wantedLeasesPerRange([])).toBe(1)
  expect(wantedLeasesPerRange([host(undefined), host(4), host(2)])).toBe(4)
  expect(wantedLeasesPerRange([host(4, true), host(2), host(undefined)])).toBe(2)
})

test('LE-15 leases over two pkranges belong to none of them', () => {
  const [a, b, c] = divide(FULL_RANGE, 3)
  const over = { minInclusive: a!.minInclusive, maxExclusive: b!.maxExclusive }
  expect(leasesWithin([c!, a!, b!], [...divide(c!, 2), over])).toEqual([
    { pkRange: a, within: [] },
    { pkRange: b, within: [] },
    { pkRange: c, within: divide(c!, 2) },
  ])
})

describe('shapes', () => {
  test('LE-15 one lease is cut into as many as wanted, the widest first', () => {
    expect([...shape([FULL_RANGE], 4).cuts.values()]).toEqual([4])
    const six = shape(divide(FULL_RANGE, 4), 6)
    expect([...six.cuts.values()]).toEqual([2, 2])
    const uneven = [divide(FULL_RANGE, 2)[0]!, ...divide(divide(FULL_RANGE, 2)[1]!, 3)]
    expect([...shape(uneven, 6).cuts]).toEqual([[feedRangeId(uneven[0]!), 3]])
  })

  test('LE-15 more parts than one step takes come about in steps of even parts', () => {
    let leases: readonly FeedRange[] = [FULL_RANGE]
    for (const expected of [20, 40]) {
      leases = reshaped(leases, shape(leases, 40))
      expect(leases).toHaveLength(expected)
    }
    expect(shape(leases, 40)).toEqual({ cuts: new Map(), joins: [] })
  })

  test('LE-15 neighbours are joined, the narrowest first', () => {
    const eight = divide(FULL_RANGE, 8)
    expect(shape(eight, 4).joins.map(feedRangeId)).toEqual(divide(FULL_RANGE, 4).map(feedRangeId))
    const [wide, ...narrow] = [divide(FULL_RANGE, 2)[0]!, ...divide(divide(FULL_RANGE, 2)[1]!, 2)]
    expect(shape([wide, ...narrow], 2).joins).toEqual([divide(FULL_RANGE, 2)[1]!])
  })

  test('LE-15 more leases than one step replaces are joined in several', () => {
    let leases: readonly FeedRange[] = divide(FULL_RANGE, 40)
    const { joins } = shape(leases, 1)
    const sizes = joins.map((join) => leases.filter((lease) => rangeContains(join, lease)).length)
    expect(joins.length).toBeGreaterThan(1)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32)
    for (let step = 0; step < 2; step += 1) leases = reshaped(leases, shape(leases, 1))
    expect(leases).toEqual([FULL_RANGE])
  })

  test('LE-15 whatever leases a pkrange has, steps come to the number that is wanted, and to rest', () => {
    const cuts = fc.array(fc.tuple(fc.nat(100), fc.integer({ min: 2, max: 5 })), { maxLength: 6 })
    fc.assert(
      fc.property(cuts, fc.integer({ min: 1, max: 70 }), (given, wanted) => {
        let leases: readonly FeedRange[] = [FULL_RANGE]
        for (const [at, parts] of given) {
          const index = at % leases.length
          leases = leases.flatMap((lease, n) => (n === index ? divide(lease, parts) : [lease]))
        }
        for (let step = 0; step < 4 && leases.length !== wanted; step += 1) {
          leases = reshaped(leases, shape(leases, wanted))
        }
        expect(leases).toHaveLength(wanted)
        expect(shape(leases, wanted)).toEqual({ cuts: new Map(), joins: [] })
        for (const [index, lease] of leases.entries()) {
          expect(leases[index + 1]?.minInclusive ?? 'FF').toBe(lease.maxExclusive)
        }
      }),
      { seed: SEED, numRuns: 100 },
    )
  })

  test('LE-15 cuts of several owners, one after the other, never make more than is wanted', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 24 }),
        fc.infiniteStream(fc.nat(1000)),
        (has, wanted, choices) => {
          let leases = divide(FULL_RANGE, has)
          for (let step = 0; step < 30; step += 1) {
            const { cuts } = shape(leases, wanted)
            const ids = [...cuts.keys()]
            if (ids.length === 0) break
            // One owner is faster than the others, and they look again.
            const id = ids[choices.next().value! % ids.length]!
            leases = reshaped(leases, { cuts: new Map([[id, cuts.get(id)!]]), joins: [] })
          }
          expect(leases).toHaveLength(Math.max(has, wanted))
        },
      ),
      { seed: SEED, numRuns: 100 },
    )
  })
})
