import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { feedRangeId, parseFeedRangeId } from '@tidemark/contracts'
import { withPositions, type PositionList } from './group-positions.ts'

/** `'-40@5'` is a position of LSN 5. */
function list(...texts: readonly string[]): PositionList {
  return texts.map((text) => {
    const [id = '', lsn] = text.split('@')
    return { range: parseFeedRangeId(id)!, lsn: Number(lsn) }
  })
}

function texts(positions: PositionList): string[] {
  return positions.map(({ range, lsn }) => `${feedRangeId(range)}@${lsn}`)
}

describe('positions after reports', () => {
  test.each([
    { before: [], reported: ['40-80@5', '-40@3'], after: ['-40@3', '40-80@5'] },
    { before: ['-40@3'], reported: ['-40@1'], after: ['-40@1'] },
    { before: ['-FF@3'], reported: ['40-80@5'], after: ['-40@3', '40-80@5', '80-FF@3'] },
    {
      before: ['-FF@3'],
      reported: ['40-50@5', '60-70@6'],
      after: ['-40@3', '40-50@5', '50-60@3', '60-70@6', '70-FF@3'],
    },
    {
      before: ['-40@3', '40-80@4', '80-FF@5'],
      reported: ['20-C0@9'],
      after: ['-20@3', '20-C0@9', 'C0-FF@5'],
    },
    { before: ['-40@3', '60-80@4'], reported: ['40-60@1'], after: ['-40@3', '40-60@1', '60-80@4'] },
    // The later one counts.
    { before: ['-FF@1'], reported: ['-80@2', '40-FF@3'], after: ['-40@2', '40-FF@3'] },
    { before: ['-FF@1'], reported: ['40-FF@3', '-80@2'], after: ['-80@2', '80-FF@3'] },
    { before: [], reported: ['-FF@1', '40-80@2'], after: ['-40@1', '40-80@2', '80-FF@1'] },
  ])('$before and $reported give $after', ({ before, reported, after }) => {
    expect(texts(withPositions(list(...before), list(...reported)))).toEqual(after)
  })

  test('all together are what one after the other are', () => {
    const bound = fc.integer({ min: 0, max: 16 })
    const part = fc
      .tuple(bound, bound, fc.nat(99))
      .filter(([a, b]) => a < b)
      .map(([a, b, lsn]) => {
        const [min, max] = [a, b].map((n) => (n * 15).toString(16).toUpperCase().padStart(2, '0'))
        return { range: { minInclusive: min === '00' ? '' : min!, maxExclusive: max! }, lsn }
      })
    fc.assert(
      fc.property(fc.array(part), fc.array(part), (first, second) => {
        const before = first.reduce<PositionList>((all, one) => withPositions(all, [one]), [])
        const oneByOne = second.reduce<PositionList>(
          (all, one) => withPositions(all, [one]),
          before,
        )
        expect(texts(withPositions(before, second))).toEqual(texts(oneByOne))
        const bounds = oneByOne.flatMap(({ range }) => [range.minInclusive, range.maxExclusive])
        expect(bounds).toEqual(bounds.toSorted())
      }),
    )
  })
})
