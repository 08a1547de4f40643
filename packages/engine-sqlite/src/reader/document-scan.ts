import type { SQLInputValue } from 'node:sqlite'
import type { ScanPage, ScanQuery } from '@tidemark/store'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Condition } from '../connection/live-rows.ts'

/** Rows of one read: a page of large documents ends after few of them. */
const ROWS_A_READ = 200

/** What an expired document is told by, in this snapshot; see `LiveRows`. */
export interface ScanSnapshot {
  readonly connection: Connection
  readonly condition: Condition | undefined
}

/** Live documents in (EPK, partition key text, id) order, within the caller's snapshot. */
export function scanDocuments(snapshot: ScanSnapshot, query: ScanQuery): ScanPage {
  const bodies: string[] = []
  let chars = 0
  let { after } = query
  for (;;) {
    const wanted = Math.min(ROWS_A_READ, query.maxItems - bodies.length)
    const [sql, ...values] = scanStatement(snapshot, { ...query, after }, wanted + 1)
    const rows = snapshot.connection.all(sql, ...values)
    for (const [index, row] of rows.slice(0, wanted).entries()) {
      const body = textColumn(row, 3)
      bodies.push(body)
      chars += body.length
      after = { epk: textColumn(row, 0), partitionKey: textColumn(row, 1), id: textColumn(row, 2) }
      if (chars >= query.maxChars || bodies.length >= query.maxItems) {
        return { bodies, next: index < rows.length - 1 ? after : undefined }
      }
    }
    if (rows.length <= wanted) return { bodies, next: undefined }
  }
}

function scanStatement(
  { condition }: ScanSnapshot,
  query: ScanQuery,
  limit: number,
): [string, ...SQLInputValue[]] {
  const { collection, range, partitionKey, after } = query
  const conditions: Condition[] = [{ sql: 'coll = ? AND kind = 0', values: [collection.number] }]
  if (condition !== undefined) conditions.push(condition)
  if (after === undefined) {
    conditions.push({ sql: 'epk >= ?', values: [range.minInclusive] })
  } else {
    // The only lower bound, so that the index goes straight to it however many documents share an EPK.
    const values = [after.epk, after.partitionKey, after.id]
    conditions.push({ sql: '(epk, pk, id) > (?, ?, ?)', values })
  }
  conditions.push({ sql: 'epk < ?', values: [range.maxExclusive] })
  if (partitionKey !== undefined) conditions.push({ sql: 'pk = ?', values: [partitionKey] })
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  return [
    `SELECT epk, pk, id, body FROM doc WHERE ${where} ORDER BY epk, pk, id LIMIT ?`,
    ...conditions.flatMap(({ values }) => values),
    limit,
  ]
}
