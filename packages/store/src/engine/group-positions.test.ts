import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { feedRangeId, parseFeedRangeId } from '@tidemark/contracts'
import {
  allArePast,
  parsePositions,
  positionAt,
  positionPart,
  positionsText,
  withPositions,
  type PositionList,
} from './group-positions.ts'

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
  test('of reports that overlap the last one counts, as if each came alone', () => {
    const bound = fc.integer({ min: 0, max: 15 }).map((n) => n.toString(16).toUpperCase())
    const part = fc
      .tuple(bound, bound, fc.nat(100))
      .filter(([a, b]) => a !== b)
      .map(([a, b, lsn]) => {
        const [minInclusive = '', maxExclusive = ''] = [a, b].toSorted()
        return { range: { minInclusive, maxExclusive }, lsn }
      })
    fc.assert(
      fc.property(fc.array(part), fc.array(part), (before, reported) => {
        const known = before.reduce((all, one) => withPositions(all, [one]), list())
        const alone = reported.reduce((all, one) => withPositions(all, [one]), known)
        for (let key = 0; key < 16; key++) {
          const epk = key.toString(16).toUpperCase()
          const together = withPositions(known, reported)
          expect(positionAt(together, epk)).toBe(positionAt(alone, epk))
        }
      }),
      { seed: 7, numRuns: 300 },
    )
  })

  test('many that overlap take steps that grow with their number', () => {
    let looks = 0
    const reported = Array.from({ length: 2000 }, (_, n) => {
      const minInclusive = (n === 0 ? 1 : n).toString(16).padStart(4, '0')
      const maxExclusive = (n + 1 + Number(n === 0)).toString(16).padStart(4, '0')
      const range = { minInclusive, maxExclusive }
      return {
        get range() {
          looks++
          return range
        },
        lsn: n,
      }
    })
    expect(withPositions([], reported)).toHaveLength(1999)
    expect(looks).toBeLessThan(2000 * 500)
  })

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

describe('TTL-14 groups that are waited for', () => {
  const groups = new Map([
    ['a', list('-40@3', '40-FF@8')],
    ['b', list('-20@9', '20-60@5', '60-FF@7')],
    ['late', list('-10@9')],
  ])
  const positionsOf = (group: string): PositionList => groups.get(group) ?? []

  test('a group stands where it reported, from the first key of a part on, and else at the beginning', () => {
    const at = (epk: string): number => positionAt(positionsOf('b'), epk)
    expect(['', '1F', '20', '5F', '60', 'FE'].map(at)).toEqual([9, 9, 5, 5, 7, 7])
    expect(positionAt(positionsOf('late'), '10')).toBe(0)
    expect(positionAt([], '10')).toBe(0)
  })

  test('all are past what the last of them has come to, and no more', () => {
    const past = (waitFor: readonly string[], epk: string, lsn: number): boolean =>
      allArePast(waitFor, positionsOf, { epk, lsn })
    expect(past([], '30', 99)).toBe(true)
    expect(past(['a', 'b'], '30', 3)).toBe(true)
    expect(past(['b', 'a'], '30', 4)).toBe(false)
    expect(past(['a', 'b'], '50', 5)).toBe(true)
    expect(past(['a', 'b'], '50', 6)).toBe(false)
    expect(past(['a', 'b', 'late'], '30', 1)).toBe(false)
    expect(past(['a', 'nobody'], '30', 1)).toBe(false)
  })

  test('a part has one position of every group, and is as large as they let it be', () => {
    const part = (waitFor: readonly string[], epk: string): string =>
      feedRangeId(positionPart(waitFor, positionsOf, epk))
    expect(part([], '30')).toBe('-FF')
    for (const waitFor of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      expect(['', '20', '3F', '40', '60'].map((epk) => part(waitFor, epk))).toEqual([
        '-20',
        '20-40',
        '20-40',
        '40-60',
        '60-FF',
      ])
    }
    expect(part(['b', 'a', 'late'], '05')).toBe('-10')
  })

  test('positions come back from their text as they went in', () => {
    for (const positions of groups.values()) {
      expect(parsePositions(positionsText(positions))).toEqual(positions)
    }
  })
})
