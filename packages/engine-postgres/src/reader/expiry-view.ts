import { ResourceNotFoundError } from '@tidemark/contracts'
import { parseHorizons, type CollectionRecord, type ExpiryView } from '@tidemark/store/engine'
import { integerArray } from '../connection/binary-array.ts'
import {
  booleanColumn,
  nullableNumberColumn,
  numberColumn,
  numberList,
  textColumn,
} from '../connection/columns.ts'
import { COLLECTION_HEAD, type ReadContext } from './read-context.ts'

const EXPIRING = 'FROM :schema.doc d WHERE d.coll = $1 AND d.kind = 0 AND d.exp > 0'
const VIEW = `WITH h AS MATERIALIZED (SELECT h.now_ms, h.now_ms / 1000 AS now, h.exact FROM (${COLLECTION_HEAD}) h)
SELECT h.now_ms, h.exact,
  ARRAY(SELECT (SELECT count(*) ${EXPIRING} AND d.exp > h.now AND d.exp <= h.now + w.seconds)
    FROM unnest($3::bigint[]) WITH ORDINALITY AS w(seconds, n) ORDER BY w.n),
  (SELECT count(*) ${EXPIRING} AND d.exp > h.now),
  (SELECT count(*) ${EXPIRING} AND d.exp <= h.now),
  (SELECT count(*) FROM :schema.doc d WHERE d.coll = $1 AND d.kind = 1),
  (SELECT d.exp ${EXPIRING} AND d.exp > h.now ORDER BY d.exp LIMIT 1),
  (SELECT json_agg(s.horizon ORDER BY r.min)
    FROM :schema.pkrange r JOIN :schema.segment s ON s.id = r.segment WHERE r.coll = $1)
FROM h`

/**
 * What expires when, from the index of expiry. Counts entries, and reads no documents. Rejects with ERR_NOT_FOUND when
 * the collection is gone.
 */
export async function readExpiry(
  { connections, statements, clock }: ReadContext,
  { number, id }: CollectionRecord,
  { withinSeconds }: { readonly withinSeconds: readonly number[] },
): Promise<ExpiryView> {
  const bounds = integerArray(withinSeconds.map(Math.floor))
  const [row] = await connections.read(statements.of(VIEW), [number, clock.atLeastMs(), bounds])
  if (row === undefined) throw new ResourceNotFoundError('collection', id)
  const nowMs = numberColumn(row, 0)
  clock.heard(nowMs)
  const next = nullableNumberColumn(row, 6)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by VIEW
  const horizons = JSON.parse(row[7] ?? '[]') as readonly string[]
  return {
    nowMs,
    expiring: numberList(textColumn(row, 2)).map(Number),
    withExpiry: numberColumn(row, 3),
    unswept: numberColumn(row, 4),
    pendingDeletes: numberColumn(row, 5),
    nextExpiryMs: next === null ? undefined : next * 1000,
    horizons: horizons.flatMap(parseHorizons),
    isReindexing: !booleanColumn(row, 1),
  }
}
