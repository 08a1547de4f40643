import type { SQLInputValue } from 'node:sqlite'
import type { DocumentVersion } from '@tidemark/contracts/internal'
import type { ScanPage, ScanPosition, ScanQuery } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Condition } from '../connection/live-rows.ts'

/** Rows of one read. */
const ROWS_A_READ = 200
/** Expired documents that one call skips. */
const MAX_EXPIRED = 5000
/** Larger documents are read one by one: before that it is unknown whether the page has room for them. */
const MAX_ROW_BYTES = 16 * 1024

const READ_BODY = `SELECT body FROM doc WHERE coll = ? AND kind = 0 AND epk = ? AND pk = ? AND id = ?`

/** The condition for expired documents, in this snapshot; see `LiveRows`. */
export interface ScanSnapshot {
  readonly connection: Connection
  readonly condition: Condition | undefined
}

/** Skips expired documents in calls of their own; a page that begins after them is of one snapshot. */
export async function scanPastExpired(
  query: ScanQuery,
  scan: (query: ScanQuery) => Promise<ScanPage>,
): Promise<ScanPage> {
  for (let { after } = query; ;) {
    const page = await scan({ ...query, after })
    if (page.versions.length > 0 || page.next === undefined) return page
    query.signal?.throwIfAborted()
    after = page.next
  }
}

/**
 * Live documents in (EPK, partition key text, id) order, within the caller's snapshot. A page can end before its
 * limits, even without a document, where it has found many expired ones: `examined` counts these, too.
 *
 * @param query.through with a partition key: the last id
 */
export function scanDocuments(
  snapshot: ScanSnapshot,
  query: ScanQuery & { readonly through?: string | undefined },
): ScanPage & { readonly examined: number } {
  const { connection } = snapshot
  const versions: DocumentVersion[] = []
  let chars = 0
  let expired = 0
  let { after } = query
  for (;;) {
    const left = expired > versions.length ? ROWS_A_READ : query.maxItems - versions.length
    const wanted = Math.min(ROWS_A_READ, left)
    const [sql, ...values] = scanStatement(snapshot, { ...query, after }, wanted + 1)
    const rows = connection.all(sql, ...values)
    for (const [index, row] of rows.slice(0, wanted).entries()) {
      after = { epk: textColumn(row, 0), partitionKey: textColumn(row, 1), id: textColumn(row, 2) }
      if (numberColumn(row, 3) === 0) {
        expired++
        continue
      }
      const [, , , , lsn, ts, rid, made, text] = row
      const body = typeof text === 'string' ? text : readBody(connection, query, after)
      versions.push({
        lsn: Number(lsn),
        ts: Number(ts),
        rid: String(rid),
        ttl: made === null ? null : Number(made),
        body,
      })
      chars += body.length
      if (chars >= query.maxChars || versions.length >= query.maxItems) {
        const next = index < rows.length - 1 ? after : undefined
        return { versions, next, examined: versions.length + expired }
      }
    }
    const isLast = rows.length <= wanted
    if (isLast || expired >= MAX_EXPIRED) {
      return { versions, next: isLast ? undefined : after, examined: versions.length + expired }
    }
  }
}

function readBody(
  connection: Connection,
  { collection }: ScanQuery,
  { epk, partitionKey, id }: ScanPosition,
): string {
  return textColumn(connection.get(READ_BODY, collection.number, epk, partitionKey, id) ?? [], 0)
}

function scanStatement(
  { condition }: ScanSnapshot,
  query: Parameters<typeof scanDocuments>[1],
  limit: number,
): [string, ...SQLInputValue[]] {
  const { collection, range, partitionKey, after, through } = query
  const conditions: Condition[] = [{ sql: 'coll = ? AND kind = 0', values: [collection.number] }]
  if (partitionKey !== undefined) {
    // All but the id is one value: the index has the rest in order, and goes straight to where the page begins.
    const values = [range.minInclusive, partitionKey]
    conditions.push({ sql: 'epk = ? AND pk = ?', values })
    if (after !== undefined) conditions.push({ sql: 'id > ?', values: [after.id] })
    if (through !== undefined) conditions.push({ sql: 'id <= ?', values: [through] })
  } else {
    // The only lower bound, so that the index goes straight to it, however many documents share an EPK.
    conditions.push(
      after === undefined
        ? { sql: 'epk >= ?', values: [range.minInclusive] }
        : { sql: '(epk, pk, id) > (?, ?, ?)', values: [after.epk, after.partitionKey, after.id] },
    )
    conditions.push({ sql: 'epk < ?', values: [range.maxExclusive] })
  }
  const live = condition ?? { sql: '1', values: [] }
  const where = conditions.map(({ sql }) => sql).join(' AND ')
  return [
    `SELECT epk, pk, id, ${live.sql}, lsn, ts, rid, made,
       iif(${live.sql} AND octet_length(body) <= ${MAX_ROW_BYTES}, body, NULL)
     FROM doc WHERE ${where} ORDER BY epk, pk, id LIMIT ? + 0`,
    ...live.values,
    ...live.values,
    ...conditions.flatMap(({ values }) => values),
    limit,
  ]
}
