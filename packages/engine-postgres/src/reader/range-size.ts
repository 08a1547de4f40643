import { ResourceNotFoundError } from '@tidemark/contracts'
import { rangeNumbered, type CollectionRecord } from '@tidemark/store/engine'
import type { RangeRow } from '../catalog/collection-row.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow, SqlValue } from '../connection/sql.ts'
import { COLLECTION_HEAD, IS_LIVE, type ReadContext } from './read-context.ts'

const OF_RANGE = `d.coll = $1 AND d.kind = 0 AND ${IS_LIVE} AND d.epk >= $3 AND d.epk < $4`
const COUNT = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT count(*) FROM h, :schema.doc d WHERE ${OF_RANGE}`
const MEASURE = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT count(*), coalesce(sum(octet_length(d.body)), 0) FROM h, :schema.doc d WHERE ${OF_RANGE}`
const NTH = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT d.epk FROM h, :schema.doc d WHERE ${OF_RANGE} ORDER BY d.epk LIMIT 1 OFFSET $5`
const AFTER = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT d.epk FROM h, :schema.doc d WHERE ${OF_RANGE} AND d.epk > $5 ORDER BY d.epk LIMIT 1`
const COUNT_ALL = `WITH h AS MATERIALIZED (${COLLECTION_HEAD})
SELECT (SELECT count(*) FROM h, :schema.doc d WHERE d.coll = $1 AND d.kind = 0 AND ${IS_LIVE}) FROM h`

/**
 * Number of a range's live documents that have not expired, and the bytes of their text. Rejects with ERR_RANGE_GONE.
 */
export async function measureRange(
  context: ReadContext,
  record: CollectionRecord,
  number: number,
): Promise<{ readonly documents: number; readonly bytes: number }> {
  const range = await presentRange(context, record, number)
  const [row = []] = await ask(context, { template: MEASURE, record, range })
  return { documents: numberColumn(row, 0), bytes: numberColumn(row, 1) }
}

/** See `DatabaseEngine.middleEpk`. */
export async function middleEpk(
  context: ReadContext,
  record: CollectionRecord,
  number: number,
): Promise<string | undefined> {
  const range = await presentRange(context, record, number)
  const [counted = []] = await ask(context, { template: COUNT, record, range })
  const nth = async (offset: number): Promise<string | undefined> => {
    const [row] = await ask(context, { template: NTH, record, range, value: offset })
    return row && textColumn(row, 0)
  }
  const first = await nth(0)
  if (first === undefined) return undefined
  const middle = (await nth(Math.floor(numberColumn(counted, 0) / 2))) ?? first
  if (middle !== first) return middle
  const [next] = await ask(context, { template: AFTER, record, range, value: first })
  return next && textColumn(next, 0)
}

/** Number of a collection's live documents that have not expired. */
export async function countDocuments(
  { connections, statements, clock }: ReadContext,
  { number, id }: CollectionRecord,
): Promise<number> {
  const values = [number, clock.atLeastMs()]
  const [row] = await connections.read(statements.of(COUNT_ALL), values)
  if (row === undefined) throw new ResourceNotFoundError('collection', id)
  return numberColumn(row, 0)
}

/** Rejects with ERR_RANGE_GONE, ERR_NOT_FOUND. */
async function presentRange(
  { collections }: ReadContext,
  record: CollectionRecord,
  number: number,
): Promise<RangeRow> {
  const { ranges } = await collections.refresh(record)
  return rangeNumbered(ranges, number)
}

async function ask(
  { connections, statements, clock }: ReadContext,
  {
    template,
    record,
    range,
    value,
  }: {
    readonly template: string
    readonly record: CollectionRecord
    readonly range: RangeRow
    readonly value?: SqlValue
  },
): Promise<readonly SqlRow[]> {
  const { minInclusive, maxExclusive } = range
  const values = [record.number, clock.atLeastMs(), minInclusive, maxExclusive]
  return connections.read(
    statements.of(template),
    value === undefined ? values : [...values, value],
  )
}
