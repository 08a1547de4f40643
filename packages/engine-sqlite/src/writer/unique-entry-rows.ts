import type { ExpiringRow, UniqueClaim, UniquePlan, UniqueScope } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

const HOLDER = `SELECT d.id, d.ts, d.ttl FROM entry e
  JOIN doc d ON d.coll = e.coll AND d.epk = e.epk AND d.pk = e.pk AND d.id = e.id AND d.kind = 0
  WHERE e.coll = ? AND e.epk = ? AND e.pk = ? AND e.ukey = ? AND e.value = ?`
const RELEASE = 'DELETE FROM entry WHERE coll = ? AND epk = ? AND pk = ? AND id = ?'
/** The document that has the entry has expired. */
const TAKE_OVER =
  'DELETE FROM entry WHERE coll = ? AND epk = ? AND pk = ? AND ukey = ? AND value = ?'
const INSERT = 'INSERT INTO entry(coll, epk, pk, id, ukey, value) VALUES (?, ?, ?, ?, ?, ?)'
const RELEASE_OF_ROW = `DELETE FROM entry WHERE (coll, epk, pk, id) =
  (SELECT coll, epk, pk, id FROM doc WHERE seq = ?)`

/** The document that an entry is stored with, even if it has expired. */
export function entryHolder(
  connection: Connection,
  { scope, keyIndex, entry }: UniqueClaim,
): (ExpiringRow & { readonly id: string }) | undefined {
  const row = connection.get(HOLDER, ...valuesOf(scope), keyIndex, entry)
  if (row === undefined) return undefined
  return { id: textColumn(row, 0), ts: numberColumn(row, 1), ttl: numberColumn(row, 2) }
}

/** Gives the documents of a commit their new entries. No other live document has any of them. */
export function storeEntries(connection: Connection, { claims, holders }: UniquePlan): void {
  for (const { scope, id } of holders) connection.run(RELEASE, ...valuesOf(scope), id)
  for (const { scope, keyIndex, entry } of claims) {
    connection.run(TAKE_OVER, ...valuesOf(scope), keyIndex, entry)
  }
  for (const { scope, id, entries } of holders) {
    for (const [keyIndex, entry] of entries.entries()) {
      connection.run(INSERT, ...valuesOf(scope), id, keyIndex, entry)
    }
  }
}

/** The document of a row has expired: its remaining entries become free. */
export function releaseEntries(connection: Connection, seq: number): void {
  connection.run(RELEASE_OF_ROW, seq)
}

function valuesOf({ collection, epk, partitionKey }: UniqueScope): readonly (string | number)[] {
  return [collection, epk, partitionKey]
}
