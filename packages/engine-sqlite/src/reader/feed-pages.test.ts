import { DatabaseSync } from 'node:sqlite'
import { FULL_RANGE } from '@tidemark/contracts'
import type { Horizon } from '@tidemark/store/engine'
import { expect, test } from 'vitest'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { logSelection } from './feed-pages.ts'
import type { RangeHead } from './range-head.ts'

/** What is left of a log with these entries, `lsn epk`, by the selection of a reader at the beginning. */
function selected(logHorizons: readonly Horizon[], entries: readonly string[]): readonly string[] {
  // Only what is looked at.
  const collection = { record: { definition: { allVersions: {} } } } as CollectionRow
  const head = { logHorizons } as unknown as RangeHead
  const { condition } = logSelection({ collection, head }, { range: FULL_RANGE, afterLsn: 0 })
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE log (lsn INTEGER, epk TEXT)')
  const insert = database.prepare('INSERT INTO log VALUES (?, ?)')
  for (const entry of entries) insert.run(...(entry.split(' ') as [string, string]))
  const sql = `SELECT lsn || ' ' || epk AS entry FROM log WHERE ${condition?.sql ?? 'true'}`
  const rows = database.prepare(sql).all(...(condition?.values ?? []))
  database.close()
  return rows.map(({ entry }) => String(entry))
}

function horizon(minInclusive: string, maxExclusive: string, lsn: number): Horizon {
  return { range: { minInclusive, maxExclusive }, lsn, stamp: 1 }
}

test('CF-11 a horizon of the log counts up to its LSN, from its first key, and up to the key before its end', () => {
  const entries = ['2 1F', '3 1F', '2 20', '2 3F', '3 3F', '2 40', '1 60', '2 60']
  expect(selected([horizon('20', '40', 2), horizon('60', 'FF', 1)], entries)).toEqual(
    entries.filter((entry) => !['2 20', '2 3F', '1 60'].includes(entry)),
  )
})

test('CF-11 ST-9 a log whose range was merged from thousands has as many horizons, and is read', () => {
  const hex = (n: number): string => n.toString(16).padStart(4, '0').toUpperCase()
  const many = Array.from({ length: 2_000 }, (_, n) => horizon(hex(n), hex(n + 1), n))
  expect(selected(many, [`1500 ${hex(1500)}`, `1501 ${hex(1500)}`, '7 FE'])).toEqual([
    `1501 ${hex(1500)}`,
    '7 FE',
  ])
})
