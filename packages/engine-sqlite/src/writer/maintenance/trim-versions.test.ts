import { expect, test } from 'vitest'
import type { CollectionRow } from '../../connection/catalog-rows.ts'
import type { PieceContext } from './piece.ts'
import { trimVersions } from './trim-versions.ts'

test('CF-11 a log that was switched off is over when one piece has seen all ranges empty, not when its time is over', () => {
  const written: string[] = []
  let looks = 0
  let looksInTime = 0
  const collection = {
    logged: true,
    record: { number: 1, definition: { allVersions: null } },
    ranges: [1, 2, 3].map((id) => ({ segment: id, segments: [{ id }] })),
  } as unknown as CollectionRow
  // Only what is asked here: nothing is left in any range.
  const context = {
    connection: {
      all: () => [],
      get: () => undefined,
      run: (sql: string) => void written.push(sql),
    },
    maxItems: 10,
    timeMs: 0,
    isOverdue: () => ++looks > looksInTime,
  } as unknown as PieceContext
  const piece = (from: number, inTime: number): object => {
    looks = 0
    looksInTime = inTime
    return trimVersions(context, collection, from)
  }
  expect(piece(0, 1)).toEqual({ items: 0, more: true, resumeAt: 2 })
  // Round the end, and no further in vain.
  expect(piece(2, 1)).toEqual({ items: 0, more: false, resumeAt: 1 })
  expect(written).toEqual([])
  expect(piece(1, 3)).toEqual({ items: 0, more: false, resumeAt: undefined })
  expect(written[0]).toContain('logged = 0')
})
