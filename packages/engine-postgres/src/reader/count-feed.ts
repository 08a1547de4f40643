import { AllVersionsOffError } from '@tidemark/contracts'
import type { FeedCount, FeedCountQuery } from '@tidemark/store/engine'
import type { CollectionRow } from '../catalog/collection-row.ts'
import { numberColumn } from '../connection/columns.ts'
import { feedRows, readLog } from './feed-pages.ts'
import type { PageRows } from './page-statement.ts'
import type { ReadContext } from './read-context.ts'
import { readPage } from './read-page.ts'

/** Rows without texts have no size, so that none of them ends the page. */
const NO_SIZE = { size: '0', maxChars: 1 } as const

const LOG_TIMES: PageRows = {
  table: 'log',
  horizon: 'log_horizon',
  columns: ['d.at'],
  size: NO_SIZE.size,
  condition: undefined,
}

/** See `DatabaseEngine.countFeed`. */
export async function countFeed(context: ReadContext, query: FeedCountQuery): Promise<FeedCount> {
  const isLog = query.mode === 'allVersions'
  // What a follower does not have yet counts too, so only the primary can answer.
  const primary = { ...context, hasReplica: false }
  return context.collections.inRange(query.collection, query.range, async (known) => {
    const { collection, isFresh } = known
    if (isLog && collection.record.definition.allVersions === null) {
      // It may just have been switched on.
      if (isFresh) throw new AllVersionsOffError(collection.record.id)
      return undefined
    }
    const rows = isLog ? LOG_TIMES : feedTimes(collection, query)
    const read = isLog ? readLog : readPage
    const page = await read(primary, { ...query, maxChars: NO_SIZE.maxChars }, { ...known, rows })
    if (page === undefined) return undefined
    const { end } = page
    const { newestLsn } = end
    const [first] = page.rows
    const isWhole = page.rows.length < query.maxItems && page.examinedLsn >= newestLsn
    return {
      rows: page.rows.length,
      isExact: isWhole || end.caughtUp,
      newestLsn,
      oldestMs: first && numberColumn(first, 2) * (isLog ? 1 : 1000),
      horizons: end.horizons,
    }
  })
}

function feedTimes(collection: CollectionRow, { pendingDeletes }: FeedCountQuery): PageRows {
  const rows = feedRows(collection)
  const { condition } = rows
  const live = condition === undefined ? 'd.kind = 0' : `d.kind = 0 AND ${condition}`
  return {
    ...rows,
    columns: ['d.ts'],
    size: NO_SIZE.size,
    condition: pendingDeletes ? condition : live,
  }
}
