import {
  horizonAt,
  horizonsOf,
  parseHorizons,
  type FeedPageQuery,
  type Horizons,
} from '@tidemark/store/engine'
import type { KnownRange } from '../catalog/collection-cache.ts'
import { numberColumn, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import { pageStatement, plainPage, type PageRows, type PageStatement } from './page-statement.ts'
import type { ReadContext } from './read-context.ts'

/** A page as read. */
export interface ReadPage {
  /** The LSN first, then null, then the requested columns. */
  readonly rows: readonly SqlRow[]
  readonly end: PageEnd
  /** Everything up to here was read, unless a limit of the query ended the page. */
  readonly examinedLsn: number
}

/** A page's data about its range, besides rows. */
export interface PageEnd {
  readonly lsn: number
  /** The range's newest. */
  readonly newestLsn: number
  readonly epoch: number
  readonly caughtUp: boolean
  readonly horizon: number
  readonly horizons: Horizons
}

/**
 * Reads one page of a feed or a log, for a range whose cached catalog may be out of date. The page's own snapshot shows
 * whether it is, and then there is no page yet.
 */
export async function readPage(
  context: ReadContext,
  query: FeedPageQuery,
  request: PageRequest,
): Promise<ReadPage | undefined> {
  const { collection, isFresh } = request
  // A fresh catalog may name changes that a follower does not have yet.
  if (context.hasReplica && !isFresh) {
    const seen = await readFrom('replica', context, { query, request })
    if (seen?.head.version !== collection.version) return undefined
    if (seen.head.newestLsn >= query.afterLsn) return seen.page
    // The follower has not come as far as the reader.
  }
  const seen = await readFrom('primary', context, { query, request })
  if (seen?.head.version !== collection.version) return undefined
  if (seen.head.newestLsn >= query.afterLsn) return seen.page
  // A fail-over may have lost what the reader saw, before the first commit after it.
  const isBegun = await beginEpoch(context, request.range.segment)
  return isBegun ? undefined : seen.page
}

/** The range to read, from the cache, and what to read of it. */
export interface PageRequest extends KnownRange {
  readonly rows: PageRows
}

const BEGIN_EPOCH = 'SELECT :schema.begin_epoch(ARRAY[$1::integer])'

async function beginEpoch(
  { connections, statements }: ReadContext,
  segment: number,
): Promise<boolean> {
  const [row = []] = await connections.write(statements.of(BEGIN_EPOCH), [segment])
  return numberColumn(row, 0) > 0
}

async function readFrom(
  from: 'primary' | 'replica',
  { connections, statements, clock }: ReadContext,
  { query, request }: { readonly query: FeedPageQuery; readonly request: PageRequest },
): Promise<{ readonly head: PageHead; readonly page: ReadPage } | undefined> {
  const { range, rows: wanted } = request
  // A follower has a clock of its own, which does not count.
  const isServer = from === 'primary' && !clock.isOwn
  const time = {
    atLeastMs: from === 'primary' ? clock.atLeastMs() : clock.nowMs(),
    clock: isServer ? 'server' : 'given',
  } as const
  const readWith = async ({ template, values, untilLsn }: PageStatement) => {
    const { signal } = query
    const rows = await connections.read(statements.of(template), values, { from, signal })
    const [first] = rows
    const head = first && parseHead(first)
    if (head === undefined) return undefined
    if (from === 'primary') clock.heard(head.nowMs)
    return { head, page: pageOf(query, { head, rows: rows.slice(1), untilLsn }) }
  }
  const plain = plainPage(query, { range, rows: wanted, time })
  if (plain !== undefined) {
    const seen = await readWith(plain)
    if (seen?.head.fits !== false) return seen
  }
  return readWith(pageStatement(query, { range, rows: wanted, time }))
}

interface PageHead {
  readonly newestLsn: number
  readonly version: number
  readonly epoch: number
  readonly nowMs: number
  readonly horizons: Horizons
  /** Of a plain page: whether its rows follow. */
  readonly fits: boolean | undefined
}

function parseHead(row: SqlRow): PageHead {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by pageStatement
  const [version, epoch, nowMs, horizon, fits] = JSON.parse(textColumn(row, 1)) as [
    number,
    number,
    number,
    string,
    boolean?,
  ]
  const newestLsn = numberColumn(row, 0)
  return { newestLsn, version, epoch, nowMs, horizons: parseHorizons(horizon), fits }
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
  // Also when the query began above it: the caller then sees that its position does not belong to this feed.
  const lsn = last === undefined ? examined : numberColumn(last, 0)
  const horizons = horizonsOf(all, query.range)
  const caughtUp = lsn >= newestLsn
  const horizon = horizonAt(horizons, query.range)
  const end = { lsn, newestLsn, epoch, caughtUp, horizon, horizons }
  return { rows, end, examinedLsn: examined }
}
