import type { Json } from '../json.ts'
import { bindParameters, resolveRowCount } from '../execution/bind-parameters.ts'
import { rewrite, type Bounds, type Rewritten } from './rewrite.ts'
import type { QueryParameter } from '../query-options.ts'
import type { WrittenQuery } from '../syntax/query.ts'

/** An interval of EPKs; equal ends, both inclusive, are one key. */
export interface QueryRange {
  readonly min: string
  readonly max: string
  readonly isMinInclusive: true
  readonly isMaxInclusive: boolean
}

/** What a client has to merge, and how. In the service's words. */
export interface QueryInfo extends Rewritten {
  readonly top: number | null
  readonly offset: number | null
  readonly limit: number | null
  readonly hasSelectValue: boolean
  readonly hasNonStreamingOrderBy: false
}

/** The answer to a query plan request, as JSON. */
export interface QueryPlan {
  readonly partitionedQueryExecutionInfoVersion: 2
  readonly queryInfo: QueryInfo
  readonly queryRanges: readonly QueryRange[]
}

/** Where a query without FROM goes: it has one row, whatever is stored, and the first pkrange answers it. */
const FIRST_KEY: QueryRange = { min: '', max: '', isMinInclusive: true, isMaxInclusive: true }

export interface PlanOptions {
  readonly parameters: readonly QueryParameter[]
  /** Where the rows of the query are. */
  readonly range: QueryRange
}

/**
 * How a client runs a query itself: it sends `rewrittenQuery` (or the query, where that is empty) to each pkrange of
 * `queryRanges`, and merges what they answer. source: QueryPlanBaselineTests of azure-cosmos-dotnet-v3.
 *
 * @throws ERR_BAD_QUERY for a query whose rows no client could merge, and for parameters without a value
 */
export function queryPlan(query: WrittenQuery, { parameters, range }: PlanOptions): QueryPlan {
  const bounds = boundsOf(query, bindParameters(query, parameters))
  const { selection } = query
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: {
      top: bounds.top ?? null,
      offset: bounds.offset ?? null,
      limit: bounds.limit ?? null,
      ...rewrite(query, bounds),
      hasSelectValue: selection.kind === 'value' && selection.text !== '*',
      hasNonStreamingOrderBy: false,
    },
    queryRanges: [query.readsDocuments ? range : FIRST_KEY],
  }
}

function boundsOf(query: WrittenQuery, values: ReadonlyMap<string, Json>): Bounds {
  return {
    top: resolveRowCount(query.top, values),
    offset: resolveRowCount(query.offset, values),
    limit: resolveRowCount(query.limit, values),
  }
}
