import type { SQLInputValue } from 'node:sqlite'
import type { ScanPage, ScanQuery } from '@tidemark/store'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Rows of one read: a page of large documents ends after few of them. */
const ROWS_A_READ = 200

/** Live documents in (EPK, partition key text, id) order, within the caller's snapshot. */
export function scanDocuments(connection: Connection, query: ScanQuery): ScanPage {
  const bodies: string[] = []
  let chars = 0
  let { after } = query
  for (;;) {
    const wanted = Math.min(ROWS_A_READ, query.maxItems - bodies.length)
    const rows = connection.all(...scanStatement({ ...query, after }, wanted + 1))
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

function scanStatement(query: ScanQuery, limit: number): [string, ...SQLInputValue[]] {
  const { collection, range, partitionKey, after } = query
  const conditions = ['coll = ?', 'kind = 0']
  const values: SQLInputValue[] = [collection.number]
  if (after === undefined) {
    conditions.push('epk >= ?')
    values.push(range.minInclusive)
  } else {
    // The only lower bound, so that the index goes straight to it however many documents share an EPK.
    conditions.push('(epk, pk, id) > (?, ?, ?)')
    values.push(after.epk, after.partitionKey, after.id)
  }
  conditions.push('epk < ?')
  values.push(range.maxExclusive)
  if (partitionKey !== undefined) {
    conditions.push('pk = ?')
    values.push(partitionKey)
  }
  const where = conditions.join(' AND ')
  return [
    `SELECT epk, pk, id, body FROM doc WHERE ${where} ORDER BY epk, pk, id LIMIT ?`,
    ...values,
    limit,
  ]
}
