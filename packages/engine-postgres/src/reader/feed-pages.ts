import { AllVersionsOffError } from '@tidemark/contracts'
import { type FeedRow, type VersionRow } from '@tidemark/contracts/internal'
import {
  neverExpires,
  type EngineFeedPage,
  type EngineVersionPage,
  type FeedPageQuery,
} from '@tidemark/store/engine'
import type { CollectionRow } from '../catalog/collection-row.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import type { PageRows } from './page-statement.ts'
import type { ReadContext } from './read-context.ts'
import { readPage, type PageRequest, type ReadPage } from './read-page.ts'

/** See `DatabaseEngine.readFeedPage`. */
export async function readFeedPage(
  context: ReadContext,
  query: FeedPageQuery,
): Promise<EngineFeedPage> {
  return context.collections.inRange(query.collection, query.range, async (known) => {
    const page = await readPage(context, query, { ...known, rows: feedRows(known.collection) })
    return page && { ...page.end, rows: page.rows.map(feedRow) }
  })
}

/** Documents that are live now, and pending deletes. */
export function feedRows({ record, reindex }: CollectionRow): PageRows {
  const policy = { defaultTtl: record.definition.defaultTtl, eras: record.ttlEras }
  const isExact = reindex === undefined
  const live = isExact
    ? '(d.exp = 0 OR d.exp * 1000 > h.now_ms)'
    : ':schema.expired_second(d.ts, d.ttl, h.default_ttl, h.eras, h.now_ms) = 0'
  const second = isExact
    ? 'd.exp'
    : 'CASE d.kind WHEN 1 THEN d.exp ELSE :schema.expiry_second(d.ts, d.ttl, h.default_ttl) END'
  return {
    table: 'doc',
    horizon: 'horizon',
    columns: [
      'd.kind',
      'd.body',
      second,
      'd.ts',
      'd.pk',
      'd.id',
      'd.rid',
      'd.made',
      'd.vlsn',
      'd.vts',
    ],
    size: 'octet_length(d.body)',
    condition: isExact && neverExpires(policy) ? undefined : `(d.kind = 1 OR ${live})`,
  }
}

/** Without checks of each column, which would cost a tenth of a page. */
function feedRow(row: SqlRow): FeedRow {
  return [
    Number(row[0]),
    row[2] === '1' ? 1 : 0,
    row[3] ?? '',
    Number(row[4]),
    Number(row[5]),
    row[6] ?? '',
    row[7] ?? '',
    row[8] ?? '',
    numberOrNull(row[9]),
    numberOrNull(row[10]),
    numberOrNull(row[11]),
  ]
}

const LOG_ROWS: PageRows = {
  table: 'log',
  horizon: 'log_horizon',
  columns: [
    'd.id',
    'd.pk',
    'd.op',
    'd.at',
    'd.current',
    'd.previous',
    'd.rid',
    'd.made',
    'd.plsn',
    'd.pts',
    'd.pmade',
  ],
  size: '(coalesce(octet_length(d.current), 0) + coalesce(octet_length(d.previous), 0))',
  condition: undefined,
}

/** See `DatabaseEngine.readVersionPage`. */
export async function readVersionPage(
  context: ReadContext,
  query: FeedPageQuery,
): Promise<EngineVersionPage> {
  return context.collections.inRange(query.collection, query.range, async (known) => {
    const { collection, isFresh } = known
    if (collection.record.definition.allVersions === null) {
      // It may just have been switched on.
      if (isFresh) throw new AllVersionsOffError(collection.record.id)
      return undefined
    }
    const page = await readLog(context, query, { ...known, rows: LOG_ROWS })
    return page && { ...page.end, rows: page.rows.map(versionRow) }
  })
}

const ABOVE_HORIZON = `NOT EXISTS (SELECT FROM p
  WHERE d.lsn <= p.lsn AND d.epk >= p.low AND d.epk < p.high)`

/**
 * A page of the log. Entries from before it was switched on again may still exist, and are left out: part of a history
 * is not a history. That takes a second, slower statement, because only the first one shows whether there are any.
 */
export async function readLog(
  context: ReadContext,
  query: FeedPageQuery,
  request: PageRequest,
): Promise<ReadPage | undefined> {
  const page = await readPage(context, query, request)
  const [first] = page?.rows ?? []
  if (page === undefined || first === undefined) return page
  if (numberColumn(first, 0) > page.end.horizon) return page
  const rows = { ...request.rows, condition: ABOVE_HORIZON }
  return readPage(context, query, { ...request, rows })
}

const OPERATIONS = ['create', 'replace', 'delete', 'expire'] as const

function versionRow(row: SqlRow): VersionRow {
  const lsn = numberColumn(row, 0)
  const [current, previous, rid] = [row[6] ?? null, row[7] ?? null, row[8] ?? '']
  const ts = Math.floor(numberColumn(row, 5) / 1000)
  return {
    lsn,
    id: textColumn(row, 2),
    partitionKey: textColumn(row, 3),
    operation: OPERATIONS[numberColumn(row, 4)] ?? 'delete',
    commitMs: numberColumn(row, 5),
    current:
      current === null ? undefined : { lsn, ts, rid, ttl: numberOrNull(row[9]), body: current },
    previous:
      previous === null
        ? undefined
        : {
            lsn: numberColumn(row, 10),
            ts: numberColumn(row, 11),
            rid,
            ttl: numberOrNull(row[12]),
            body: previous,
          },
  }
}

function numberOrNull(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text)
}
