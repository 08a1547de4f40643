import { rangeContainsEpk } from '@tidemark/contracts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MemorySegment, type SegmentRow } from './memory-segment.ts'
import { RangeRows } from './range-rows.ts'
import { rowsByLsn } from './rows-by-lsn.ts'

interface TestRow extends SegmentRow {
  readonly name: string
}

const EPKS = ['10', '20', '30', '40'] as const

/** Segments with rows in LSN order, equal LSNs within and across them, and holes. */
const segments: fc.Arbitrary<readonly (readonly TestRow[])[]> = fc
  .array(
    fc.array(fc.record({ step: fc.integer({ min: 0, max: 2 }), epk: fc.constantFrom(...EPKS) }), {
      maxLength: 12,
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((lists) =>
    lists.map((list, segment) => {
      let lsn = 1
      return list.map(({ step, epk }, index) => {
        lsn += step
        return { lsn, epk, name: `${segment}/${index}`, segment: undefined, slot: 0 }
      })
    }),
  )

function filled(rows: readonly TestRow[]): MemorySegment<TestRow> {
  const segment = new MemorySegment<TestRow>()
  for (const row of rows) segment.append(row)
  return segment
}

function names(rows: Iterable<TestRow>): readonly string[] {
  return [...rows].map(({ name }) => name)
}

test('rows of several segments come in LSN order, those of one LSN by segment and place', () => {
  fc.assert(
    fc.property(
      segments,
      fc.nat(15),
      fc.infiniteStream(fc.boolean()),
      (lists, afterLsn, isGone) => {
        const made = lists.map(filled)
        const left = lists.map((rows) =>
          rows.filter((row) => {
            if (isGone.next().value !== true) return true
            row.segment?.remove(row)
            return false
          }),
        )
        // A sort that is stable keeps those of one LSN by segment and place.
        const wanted = left
          .flat()
          .filter(({ lsn }) => lsn > afterLsn)
          .toSorted((a, b) => a.lsn - b.lsn)
        expect(names(rowsByLsn(made, afterLsn))).toEqual(names(wanted))
      },
    ),
  )
})

test('ST-9 folding piece by piece never changes what a range has, nor its order', () => {
  fc.assert(
    fc.property(segments, fc.integer({ min: 1, max: 6 }), (lists, maxRows) => {
      const inherited = lists.map(filled)
      const range = { minInclusive: '20', maxExclusive: '40' }
      const other = { minInclusive: '40', maxExclusive: 'FF' }
      const mine = new RangeRows<TestRow>(range, inherited)
      const theirs = new RangeRows<TestRow>(other, inherited)
      const wanted = names(mine.after(0))
      const untouched = names(theirs.after(0))
      expect(wanted).toHaveLength(
        lists.flat().filter(({ epk }) => rangeContainsEpk(range, epk)).length,
      )
      let moved = 0
      while (mine.isInherited) {
        moved += mine.fold(maxRows)
        expect(names(mine.after(0))).toEqual(wanted)
        expect(names(theirs.after(0))).toEqual(untouched)
      }
      expect(moved).toBe(wanted.length)
      // What successors inherit has only this range's own rows now.
      expect(names(rowsByLsn(mine.segments, 0))).toEqual(wanted)
    }),
  )
})

test('the oldest rows are removed by whole transactions, and only while they may go', () => {
  const rows = [1, 2, 2, 2, 3, 4].map((lsn, index) => ({
    lsn,
    epk: '10',
    name: String(index),
    segment: undefined,
    slot: 0,
  }))
  const range = new RangeRows<TestRow>({ minInclusive: '', maxExclusive: 'FF' })
  for (const row of rows) range.append(row)
  expect(names(range.removeOldest(2, () => true))).toEqual(['0', '1', '2', '3'])
  expect(names(range.removeOldest(9, ({ lsn }) => lsn < 4))).toEqual(['4'])
  expect(names(range.after(0))).toEqual(['5'])
  range.clear()
  expect(names(range.after(0))).toEqual([])
})
