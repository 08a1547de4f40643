import type { Query } from './syntax/query.ts'

/** The answer to a query plan request, as JSON. */
export interface QueryPlan {
  readonly partitionedQueryExecutionInfoVersion: 2
  readonly queryInfo: Readonly<Record<string, unknown>>
  readonly queryRanges: readonly Readonly<Record<string, unknown>>[]
}

/** What a plan puts before the query, for the gateway to know a query again that follows it. */
const MARK = '/* planned: over all ranges */ '

/** Whether a query text was taken from a plan: it then concerns the whole container, wherever it was sent. */
export function isPlanned(text: string): boolean {
  return text.startsWith(MARK)
}

/**
 * A plan that leaves nothing to the client: the gateway orders, groups and counts over all ranges by
 * itself, so that a client must not do it again. It sends the client to the first pkrange only, with a
 * query that says so.
 */
export function queryPlan(query: Query): QueryPlan {
  return {
    partitionedQueryExecutionInfoVersion: 2,
    queryInfo: {
      distinctType: 'None',
      top: null,
      offset: null,
      limit: null,
      orderBy: [],
      orderByExpressions: [],
      groupByExpressions: [],
      groupByAliases: [],
      aggregates: [],
      groupByAliasToAggregateType: {},
      rewrittenQuery: MARK + query.text,
      hasSelectValue: query.selection.kind === 'value',
      dCountInfo: null,
      hasNonStreamingOrderBy: false,
    },
    queryRanges: [{ min: '', max: '00', isMinInclusive: true, isMaxInclusive: false }],
  }
}
