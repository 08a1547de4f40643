import { ResourceNotFoundError } from '@tidemark/contracts'
import type { ScanPage, ScanQuery } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlValue } from '../connection/sql.ts'
import { COLLECTION_HEAD, IS_LIVE, type ReadContext } from './read-context.ts'

/** Live documents in (EPK, partition key text, id) order, in one snapshot. */
export async function scanDocuments(
  { connections, statements, clock }: ReadContext,
  query: ScanQuery,
): Promise<ScanPage> {
  const { template, values } = scanStatement(query, clock.atLeastMs())
  const rows = await connections.read(statements.of(template), values)
  const [first] = rows
  if (first === undefined) throw new ResourceNotFoundError('collection', query.collection.id)
  clock.heard(numberColumn(first, 0))
  // A collection without a document answers one row without one.
  const found = first[1] === null ? [] : rows
  const taken = found.slice(0, query.maxItems)
  const last = taken.at(-1)
  const hasMore = last !== undefined && last[9] === 'f'
  return {
    versions: taken.map((row) => ({
      lsn: numberColumn(row, 5),
      ts: numberColumn(row, 6),
      rid: textColumn(row, 7),
      ttl: row[8] === null ? null : numberColumn(row, 8),
      body: textColumn(row, 4),
    })),
    next: hasMore
      ? { epk: textColumn(last, 1), partitionKey: textColumn(last, 2), id: textColumn(last, 3) }
      : undefined,
  }
}

/*
 * The innermost query reads one document more than requested, to find out whether any follow. The page contains the
 * documents before which fewer characters than its limit were counted, so that documents beyond a large page are not
 * sent in vain. The last row shows whether that limit ended the page.
 */
function scanStatement(
  { collection, range, partitionKey, after, maxItems, maxChars }: ScanQuery,
  atLeastMs: number,
): { readonly template: string; readonly values: readonly SqlValue[] } {
  const values: SqlValue[] = [collection.number, atLeastMs]
  const parameter = (value: SqlValue): string => `$${values.push(value)}`
  const conditions = ['d.coll = $1', 'd.kind = 0', IS_LIVE]
  if (after === undefined) conditions.push(`d.epk >= ${parameter(range.minInclusive)}`)
  else {
    const key = [after.epk, after.partitionKey, after.id].map(parameter)
    conditions.push(`(d.epk, d.pk, d.id) > (${key.join(', ')})`)
  }
  conditions.push(`d.epk < ${parameter(range.maxExclusive)}`)
  if (partitionKey !== undefined) conditions.push(`d.pk = ${parameter(partitionKey)}`)
  const limit = parameter(Math.min(maxItems + 1, Number.MAX_SAFE_INTEGER))
  const chars = parameter(Math.min(maxChars, Number.MAX_SAFE_INTEGER))
  const template = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT h.now_ms, r.epk, r.pk, r.id, r.body, r.lsn, r.ts, r.rid, r.made, r.is_last FROM h LEFT JOIN (
  SELECT epk, pk, id, body, lsn, ts, rid, made, is_last FROM (
    SELECT d.epk, d.pk, d.id, d.body, d.lsn, d.ts, d.rid, d.made,
      lead(d.id) OVER (ORDER BY d.epk, d.pk, d.id) IS NULL AS is_last,
      sum(octet_length(d.body)) OVER (ORDER BY d.epk, d.pk, d.id) - octet_length(d.body) AS before
    FROM (SELECT d.epk, d.pk, d.id, d.body, d.lsn, d.ts, d.rid, d.made FROM h, :schema.doc d WHERE ${conditions.join(' AND ')}
      ORDER BY d.epk, d.pk, d.id LIMIT ${limit}) d) counted
  WHERE before < ${chars}) r ON true ORDER BY r.epk, r.pk, r.id`
  return { template, values }
}
