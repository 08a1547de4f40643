import { FULL_RANGE } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { horizonsAfter, removableRows, type AgingTimes } from './aging.ts'

const rows: readonly AgingTimes[] = [
  { lsn: 1, writtenAt: 0, epk: '10' },
  { lsn: 2, writtenAt: 0, epk: '20' },
  { lsn: 2, writtenAt: 0, epk: 'A0' },
  { lsn: 3, writtenAt: 1, epk: 'B0' },
  { lsn: 3, writtenAt: 9, epk: 'C0' },
  { lsn: 4, writtenAt: 1, epk: '30' },
]
const aging = { mayGo: ({ writtenAt }: AgingTimes): boolean => writtenAt < 5 }

test.each([
  { maxItems: 1, lsns: [1] },
  { maxItems: 2, lsns: [1, 2, 2] },
  { maxItems: 9, lsns: [1, 2, 2] },
])(
  'TTL-14 TTL-15 of at most $maxItems rows whole LSNs go, up to the first that stays',
  ({ maxItems, lsns }) => {
    expect(removableRows(rows, aging, maxItems).map(({ lsn }) => lsn)).toEqual(lsns)
  },
)

test('TTL-15 horizons rise for the keys that rise together, within the range', () => {
  const low = { minInclusive: '', maxExclusive: '80' }
  const high = { minInclusive: '80', maxExclusive: 'FF' }
  const keysAround = (epk: string): typeof low => (epk < '80' ? low : high)
  const range = { minInclusive: '', maxExclusive: 'C0' }
  const before = [{ range: low, lsn: 1, stamp: 3 }]
  expect(
    horizonsAfter(before, rows.slice(0, 3), { range, aging: { keysAround }, stamp: 7 }),
  ).toEqual([
    { range: low, lsn: 2, stamp: 7 },
    { range: { minInclusive: '80', maxExclusive: 'C0' }, lsn: 2, stamp: 7 },
  ])
  const all = { range: FULL_RANGE, aging: { keysAround: () => FULL_RANGE }, stamp: 8 }
  expect(horizonsAfter(before, [], all)).toBe(before)
})

test('TTL-15 CF-11 what was below the horizon of its key already makes nobody late again', () => {
  const before = [{ range: { minInclusive: '', maxExclusive: '80' }, lsn: 2, stamp: 3 }]
  const all = { range: FULL_RANGE, aging: { keysAround: () => FULL_RANGE }, stamp: 8 }
  expect(horizonsAfter(before, rows.slice(0, 2), all)).toBe(before)
  // Of another part of the keys.
  expect(horizonsAfter(before, rows.slice(0, 3), all)).toMatchObject([{ lsn: 2, stamp: 8 }])
})
