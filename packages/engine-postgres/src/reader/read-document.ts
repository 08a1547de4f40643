import { ResourceNotFoundError } from '@tidemark/contracts'
import { type DocumentVersion } from '@tidemark/contracts/internal'
import { expiredSecond, type DocumentKey, type TtlEra } from '@tidemark/store/engine'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import { storeTime, type ReadContext } from './read-context.ts'

// One statement, and so one snapshot: the document, and the values that decide whether it lives.
const READ = `
SELECT ${storeTime(2)}, c.default_ttl, c.eras, d.lsn, d.ts, d.ttl, d.body, d.rid, d.made
FROM :schema.collection c JOIN :schema.database b ON b.number = c.db
LEFT JOIN LATERAL (SELECT lsn, ts, ttl, body, rid, made FROM :schema.doc
  WHERE coll = $1 AND epk = $3 AND pk = $4 AND id = $5 AND kind = 0 LIMIT 1) d ON true
WHERE c.number = $1`

/** The live document of a key. Rejects with ERR_NOT_FOUND when the collection is gone. */
export async function readDocument(
  { connections, statements, clock }: ReadContext,
  { collection, epk, partitionKey, id }: DocumentKey,
): Promise<DocumentVersion | undefined> {
  const values = [collection.number, clock.atLeastMs(), epk, partitionKey, id]
  const [row] = await connections.read(statements.of(READ), values)
  if (row === undefined) throw new ResourceNotFoundError('collection', collection.id)
  clock.heard(numberColumn(row, 0))
  return liveRow(row)
}

/** From columns as in `READ`: undefined when there is no document, or it has expired. */
export function liveRow(row: SqlRow): DocumentVersion | undefined {
  if (row[3] === null) return undefined
  const nowMs = numberColumn(row, 0)
  const times = { ts: numberColumn(row, 4), ttl: numberColumn(row, 5) }
  const policy = {
    defaultTtl: row[1] === null ? null : numberColumn(row, 1),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own text, written with the record
    eras: row[2] === '[]' ? [] : (JSON.parse(textColumn(row, 2)) as TtlEra[]),
  }
  if (expiredSecond(times, policy, nowMs) !== 0) return undefined
  return {
    lsn: numberColumn(row, 3),
    ts: times.ts,
    rid: textColumn(row, 7),
    ttl: row[8] === null ? null : numberColumn(row, 8),
    body: textColumn(row, 6),
  }
}
