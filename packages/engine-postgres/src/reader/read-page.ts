import { horizonAt, horizonsOf, type FeedPageQuery, type Horizons } from '@tidemark/store'
import type { KnownRange } from '../catalog/collection-cache.ts'
import { parseHorizons } from '../catalog/collection-row.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import { pageStatement, type PageRows } from './page-statement.ts'
import type { ReadContext } from './read-context.ts'

/** A page as read: rows with the LSN first, then null, then the columns that were asked for. */
export interface ReadPage {
  readonly rows: readonly SqlRow[]
  readonly lsn: number
  readonly epoch: number
  readonly caughtUp: boolean
  readonly horizon: number
  readonly horizons: Horizons
}

/**
 * Reads one page of a feed or a log, of a range of which a catalog in hand may be out of date: the page's own
 * snapshot says whether it is, and then there is no page yet.
 */
export async function readPage(
  { connections, statements, clock }: ReadContext,
  query: FeedPageQuery,
  { range, collection, rows: wanted }: KnownRange & { readonly rows: PageRows },
): Promise<ReadPage | undefined> {
  const atLeastMs = clock.atLeastMs()
  const page = pageStatement(query, { range, rows: wanted, atLeastMs })
  const rows = await connections.read(statements.of(page.template), page.values, {
    from: 'replica',
  })
  const [first] = rows
  const head = first && parseHead(first)
  if (head?.version !== collection.version) return undefined
  clock.heard(head.nowMs)
  return pageOf(query, { head, rows: rows.slice(1), untilLsn: page.untilLsn })
}

interface PageHead {
  readonly newestLsn: number
  readonly version: number
  readonly epoch: number
  readonly nowMs: number
  readonly horizons: Horizons
}

function parseHead(row: SqlRow): PageHead {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by pageStatement
  const [version, epoch, nowMs, horizon] = JSON.parse(textColumn(row, 1)) as [
    number,
    number,
    number,
    string,
  ]
  const newestLsn = numberColumn(row, 0)
  return { newestLsn, version, epoch, nowMs, horizons: parseHorizons(horizon) }
}

function pageOf(
  query: FeedPageQuery,
  {
    head: { newestLsn, epoch, horizons: all },
    rows,
    untilLsn,
  }: {
    readonly head: PageHead
    readonly rows: readonly SqlRow[]
    readonly untilLsn: number | undefined
  },
): ReadPage {
  const last = rows.at(-1)
  const examined = untilLsn === undefined ? newestLsn : Math.min(untilLsn, newestLsn)
  // Also when the query began above it: the caller then sees that its position is not of this feed.
  const lsn = last === undefined ? examined : numberColumn(last, 0)
  const horizons = horizonsOf(all, query.range)
  return {
    rows,
    lsn,
    epoch,
    caughtUp: lsn >= newestLsn,
    horizon: horizonAt(horizons, query.range),
    horizons,
  }
}
