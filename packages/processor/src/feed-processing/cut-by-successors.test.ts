import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseFeedRangeId, rangeContains, type FeedRange } from '@tidemark/contracts'
import { cutBySuccessors } from './cut-by-successors.ts'

function ranges(...ids: string[]): FeedRange[] {
  return ids.map((id) => parseFeedRangeId(id)!)
}

test.each([
  { what: 'a split', range: '-40', successors: ['-20', '20-40'], parts: ['-20', '20-40'] },
  { what: 'out of order', range: '-40', successors: ['20-40', '-20'], parts: ['-20', '20-40'] },
  { what: 'named twice', range: '-40', successors: ['-40', '-40'], parts: ['-40'] },
  { what: 'merged away', range: '10-20', successors: ['-40'], parts: ['10-20'] },
  {
    what: 'merged and split elsewhere',
    range: '-40',
    successors: ['-30', '30-80'],
    parts: ['-30', '30-40'],
  },
  { what: 'one that touches', range: '-40', successors: ['-40', '40-80'], parts: ['-40'] },
])('LE-10 parts of a lease after $what', ({ range, successors, parts }) => {
  expect(cutBySuccessors(ranges(range)[0]!, ranges(...successors))).toEqual(ranges(...parts))
})

test.each([
  { what: 'nothing', successors: [] },
  { what: 'a gap inside', successors: ['-10', '20-40'] },
  { what: 'a gap at the end', successors: ['-30'] },
  { what: 'an overlap', successors: ['-30', '20-40'] },
])(
  'LE-10 successors that leave keys out or name them twice are no replacement: $what',
  ({ successors }) => {
    expect(cutBySuccessors(ranges('-40')[0]!, ranges(...successors))).toBeUndefined()
  },
)

test('LE-10 whatever the ranges, the parts are the lease cut at their bounds, 32 at most', () => {
  const bound = fc.integer({ min: 1, max: 254 })
  fc.assert(
    fc.property(fc.uniqueArray(bound, { maxLength: 80 }), bound, bound, (bounds, a, b) => {
      fc.pre(a !== b)
      const hex = (value: number): string => value.toString(16).toUpperCase().padStart(2, '0')
      const lease = { minInclusive: hex(Math.min(a, b)), maxExclusive: hex(Math.max(a, b)) }
      const cuts = bounds.map(hex).toSorted()
      const present = ['', ...cuts].map((minInclusive, index) => ({
        minInclusive,
        maxExclusive: cuts[index] ?? 'FF',
      }))
      const parts = cutBySuccessors(lease, present)!
      expect(parts.length).toBeLessThanOrEqual(32)
      expect(parts[0]?.minInclusive).toBe(lease.minInclusive)
      expect(parts.at(-1)?.maxExclusive).toBe(lease.maxExclusive)
      for (const [index, part] of parts.entries()) {
        expect(parts[index + 1]?.minInclusive ?? lease.maxExclusive).toBe(part.maxExclusive)
        const isWithinOne = present.some((own) => rangeContains(own, part))
        const inside = cuts.filter((at) => lease.minInclusive < at && at < lease.maxExclusive)
        if (inside.length < 32) expect(isWithinOne).toBe(true)
      }
    }),
  )
})
