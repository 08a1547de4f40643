import { expiredSecond, expirySecond } from '@tidemark/store/engine'
import type { CollectionRow } from '../../connection/catalog-rows.ts'
import { numberColumn, textColumn, type Row } from '../../connection/column.ts'
import { raiseCatalogVersion } from '../../connection/head.ts'
import { policyOf } from '../../connection/live-rows.ts'
import { expireDocument } from '../expiry-writes.ts'
import type { TouchedRange } from '../writer-messages.ts'
import { NOTHING_TO_DO, type PieceContext, type PieceResult } from './piece.ts'

const NEXT = `SELECT seq, ts, ttl, exp, epk, pk, id FROM doc
  WHERE coll = ? AND kind = 0 AND (epk, pk, id) > (?, ?, ?) ORDER BY epk, pk, id LIMIT ? + 0`

/**
 * After a change of `defaultTtl`: processes all documents by key. Turns those that have expired, also under past
 * values, into pending deletes, and files the others under their new second. Then it forgets the past values (TTL-18).
 */
export function reindexExpiry(context: PieceContext, collection: CollectionRow): PieceResult {
  const { connection, maxItems } = context
  const { number } = collection.record
  const stored = connection.get('SELECT reindex FROM collection WHERE number = ?', number)?.[0]
  if (typeof stored !== 'string') return NOTHING_TO_DO
  const rows = connection.all(NEXT, number, ...reindexedUpTo(stored), maxItems)
  const touched: TouchedRange[] = []
  let done = 0
  for (const row of rows) {
    const pendingDelete = fileDocument(context, collection, row)
    if (pendingDelete !== undefined) touched.push(pendingDelete)
    done++
    if (context.isOverdue()) break
  }
  const last = rows[done - 1]
  const more = done < rows.length || rows.length >= maxItems
  if (more && last !== undefined) {
    const key = JSON.stringify({ after: [4, 5, 6].map((column) => textColumn(last, column)) })
    connection.run('UPDATE collection SET reindex = ? WHERE number = ?', key, number)
  } else {
    connection.run(`UPDATE collection SET reindex = NULL, eras = '[]' WHERE number = ?`, number)
    raiseCatalogVersion(connection)
  }
  return { items: done, more, touched }
}

function fileDocument(
  context: PieceContext,
  collection: CollectionRow,
  row: Row,
): TouchedRange | undefined {
  const policy = policyOf(collection)
  const seq = numberColumn(row, 0)
  const times = { ts: numberColumn(row, 1), ttl: numberColumn(row, 2) }
  const expired = expiredSecond(times, policy, context.timeMs)
  if (expired !== 0) {
    const epk = textColumn(row, 4)
    const present = context.collectionFor(epk)
    return expireDocument(context, { collection: present, epk, seq, second: expired })
  }
  const second = expirySecond(times, policy.defaultTtl)
  if (second !== numberColumn(row, 3)) {
    context.connection.run('UPDATE doc SET exp = ? WHERE seq = ?', second, seq)
  }
  return undefined
}

/** The key after which the work continues. */
function reindexedUpTo(stored: string): readonly [string, string, string] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written above and by changeCollection
  const { after } = JSON.parse(stored) as { readonly after?: readonly [string, string, string] }
  return after ?? ['', '', '']
}
