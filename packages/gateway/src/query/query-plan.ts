import type { Query } from './syntax/query.ts'

/** What kind of query it is, for hosts that treat kinds differently. */
export interface QueryTraits {
  readonly hasAggregates: boolean
  readonly hasGroupBy: boolean
  readonly hasOrderBy: boolean
  readonly hasDistinct: boolean
  /** TOP or OFFSET LIMIT. */
  readonly hasRowLimit: boolean
  readonly hasSelectValue: boolean
  /**
   * True when its rows over several ranges are not just those of each range one after the other: it
   * has to be run over all of them together.
   */
  readonly spansRanges: boolean
}

export function queryTraits(query: Query): QueryTraits {
  const hasGroupBy = query.groupBy.length > 0
  const hasAggregates = query.aggregates.length > 0
  const hasOrderBy = query.orderBy.length > 0
  const hasDistinct = query.distinct
  const hasRowLimit = query.top !== undefined || query.limit !== undefined
  return {
    hasAggregates,
    hasGroupBy,
    hasOrderBy,
    hasDistinct,
    hasRowLimit,
    hasSelectValue: query.selection.kind === 'value',
    spansRanges:
      hasAggregates ||
      hasGroupBy ||
      hasOrderBy ||
      hasDistinct ||
      hasRowLimit ||
      !query.readsDocuments,
  }
}

/** The answer to a query plan request, as JSON. */
export interface QueryPlan {
  readonly partitionedQueryExecutionInfoVersion: 2
  readonly queryInfo: Readonly<Record<string, unknown>>
  readonly queryRanges: readonly Readonly<Record<string, unknown>>[]
}

/**
 * A plan that leaves nothing to the client: the gateway orders, groups and counts over all ranges by
 * itself, so that a client must not do it again.
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
      rewrittenQuery: '',
      hasSelectValue: queryTraits(query).hasSelectValue,
      dCountInfo: null,
      hasNonStreamingOrderBy: false,
    },
    queryRanges: [{ min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }],
  }
}
