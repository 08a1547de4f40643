import {
  expiredSecond,
  neverExpires,
  uniqueBreach,
  type UniqueBreach,
  type UniqueClaim,
  type UniquePlan,
  type UniqueScope,
} from '@tidemark/store/engine'
import type { CatalogRows } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { policyOf } from '../connection/live-rows.ts'

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

/** The step of a commit that gives a document an entry of another live one, in the present state of the transaction. */
export function storedBreach(
  { connection, catalog }: { readonly connection: Connection; readonly catalog: CatalogRows },
  plan: UniquePlan,
  timeMs: number,
): UniqueBreach | undefined {
  const holderOf = ({ scope, keyIndex, entry }: UniqueClaim): string | undefined => {
    const row = connection.get(HOLDER, ...valuesOf(scope), keyIndex, entry)
    const collection = catalog.collections.get(scope.collection)
    if (row === undefined || collection === undefined) return undefined
    const policy = policyOf(collection)
    const times = { ts: numberColumn(row, 1), ttl: numberColumn(row, 2) }
    const isLive = neverExpires(policy) || expiredSecond(times, policy, timeMs) === 0
    return isLive ? textColumn(row, 0) : undefined
  }
  return uniqueBreach(plan, holderOf)
}

/** Gives the documents of a commit their new entries. No other live document has any of them. */
export function storeEntries(connection: Connection, { holders }: UniquePlan): void {
  for (const { scope, id } of holders) connection.run(RELEASE, ...valuesOf(scope), id)
  for (const { scope, id, entries } of holders) {
    for (const [keyIndex, entry] of entries.entries()) {
      connection.run(TAKE_OVER, ...valuesOf(scope), keyIndex, entry)
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
