import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commonKeys, feedRangeId, FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import { keysNotIn } from '../lease-stores/keys-not-in.ts'
import { cutLease, firstParts, steps, withoutDone, type WantedPosition } from './cut-lease.ts'

const start = 'beginning'

function range(minInclusive: string, maxExclusive: string): FeedRange {
  return { minInclusive, maxExclusive }
}

function wanted(...ranges: readonly FeedRange[]): readonly WantedPosition[] {
  return ranges.map((one) => ({ range: one, start }))
}

/** `min-max` of each part, those that move with a star. */
function shown(parts: ReturnType<typeof cutLease>): readonly string[] | undefined {
  return parts?.map((part) => feedRangeId(part.range) + (part.wanted === undefined ? '' : '*'))
}

describe('cutting a lease', () => {
  test.each([
    ['all of it', range('', 'FF'), [FULL_RANGE], [FULL_RANGE], ['-FF*']],
    ['nothing of it', range('', '20'), [range('20', 'FF')], [FULL_RANGE], undefined],
    ['its end', range('', '20'), [range('10', '30')], [FULL_RANGE], ['-10', '10-20*']],
    ['its middle', range('', '20'), [range('08', '10')], [FULL_RANGE], ['-08', '08-10*', '10-20']],
    [
      'all of it, after a split',
      range('', 'FF'),
      [FULL_RANGE],
      [range('', '20'), range('20', 'FF')],
      ['-20*', '20-FF*'],
    ],
    [
      'a part of a range that was merged',
      range('10', '20'),
      [FULL_RANGE],
      [FULL_RANGE],
      ['10-20*'],
    ],
    [
      'two wanted positions, with keys between them that have none',
      range('', 'FF'),
      [range('', '10'), range('20', '30')],
      [FULL_RANGE],
      ['-10*', '10-20', '20-30*', '30-FF'],
    ],
    [
      'keys beside a split, which stay together',
      range('', 'FF'),
      [range('30', 'FF')],
      [range('', '20'), range('20', 'FF')],
      ['-30', '30-FF*'],
    ],
  ] as const)('%s', (_, lease, ranges, present, expected) => {
    expect(shown(cutLease(lease, wanted(...ranges), present))).toEqual(expected)
  })

  const bounds = fc
    .uniqueArray(fc.integer({ min: 1, max: 250 }), { maxLength: 8 })
    .map((cuts) =>
      cuts.sort((a, b) => a - b).map((cut) => cut.toString(16).toUpperCase().padStart(2, '0')),
    )
  const cover = bounds.map((cuts) =>
    ['', ...cuts].map((min, index) => range(min, cuts[index] ?? 'FF')),
  )
  const some = fc
    .tuple(cover, fc.array(fc.boolean(), { minLength: 9, maxLength: 9 }))
    .map(([ranges, chosen]) => ranges.filter((_, index) => chosen[index]))

  test('parts are the lease, in order; those that move are the wanted keys, each in one present range', () => {
    fc.assert(
      fc.property(cover, some, cover, (leases, moving, present) => {
        for (const lease of leases) {
          const parts = cutLease(lease, wanted(...moving), present)
          if (parts === undefined) {
            expect(moving.some((one) => commonKeys(one, lease) !== undefined)).toBe(false)
            continue
          }
          expect(parts[0]?.range.minInclusive).toBe(lease.minInclusive)
          expect(parts.at(-1)?.range.maxExclusive).toBe(lease.maxExclusive)
          for (const [index, part] of parts.entries()) {
            const next = parts[index + 1]
            if (next !== undefined) {
              expect(part.range.maxExclusive).toBe(next.range.minInclusive)
              expect(part.wanted === undefined && next.wanted === undefined).toBe(false)
            }
            if (part.wanted === undefined) {
              expect(moving.some((one) => commonKeys(one, part.range) !== undefined)).toBe(false)
            } else {
              expect(keysNotIn([part.range], [part.wanted.range])).toEqual([])
              expect(present.filter((one) => commonKeys(one, part.range))).toHaveLength(1)
            }
          }
        }
      }),
    )
  })

  test('cut in rounds of few parts, it comes to the same', () => {
    fc.assert(
      fc.property(some, cover, fc.integer({ min: 2, max: 4 }), (moving, present, count) => {
        let left = wanted(...moving)
        let leases: readonly FeedRange[] = [FULL_RANGE]
        const moved: string[] = []
        for (let round = 0; round < 40; round += 1) {
          const next: FeedRange[] = []
          for (const lease of leases) {
            const parts = firstParts(cutLease(lease, left, present) ?? [], count)
            next.push(...(parts.length === 0 ? [lease] : parts.map((part) => part.range)))
            const done = parts.filter((part) => part.wanted !== undefined)
            moved.push(...done.map((part) => feedRangeId(part.range)))
            left = withoutDone(
              left,
              done.map((part) => part.range),
            )
          }
          leases = next
        }
        expect(left).toEqual([])
        const atOnce = cutLease(FULL_RANGE, wanted(...moving), present) ?? []
        const expected = atOnce.filter((part) => part.wanted !== undefined)
        expect(moved.sort()).toEqual(expected.map((part) => feedRangeId(part.range)).sort())
        expect(keysNotIn([FULL_RANGE], leases)).toEqual([])
      }),
    )
  })
})

test('steps hold as many leases, old and new, as one step of the store takes', () => {
  const sizes = [1, 1, 30, 40, 63, 1, 20, 40, 1]
  const cuts = sizes.map((size) => ({ parts: Array.from({ length: size }) }))
  const chunks = steps(cuts, 64)
  expect(chunks.map((chunk) => chunk.map(({ parts }) => parts.length))).toEqual([
    [1, 1, 30],
    [40],
    [63],
    [1, 20, 40],
    [1],
  ])
  expect(steps([], 64)).toEqual([])
})
