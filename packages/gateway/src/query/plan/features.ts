import { BadQueryError } from '../bad-query-error.ts'
import type { QueryInfo } from './query-plan.ts'

/**
 * Refuses a plan that the client says it cannot follow: its rows would not be merged. A client that names nothing is
 * believed to know everything. The names are those of `QueryFeatures` of the .NET client.
 *
 * @throws ERR_BAD_QUERY
 */
export function assertSupported(info: QueryInfo, supported: string | undefined): void {
  if (supported === undefined) return
  const known = new Set(supported.split(',').map((name) => name.trim().toLowerCase()))
  const missing = neededFeatures(info).filter((name) => !known.has(name.toLowerCase()))
  if (missing.length === 0) return
  // In the service's words at first: clients look for them.
  throw new BadQueryError(
    'Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support ' +
      `the requested features: the calling client does not support ${missing.join(', ')}`,
  )
}

function neededFeatures(info: QueryInfo): string[] {
  const aggregates = [
    ...info.aggregates,
    ...Object.values(info.groupByAliasToAggregateType).filter((type) => type !== null),
  ]
  const isGrouped = info.groupByExpressions.length > 0
  const needed: Readonly<Record<string, boolean>> = {
    Distinct: info.distinctType !== 'None',
    DCount: info.dCountInfo !== null,
    Top: info.top !== null,
    OffsetAndLimit: info.offset !== null,
    OrderBy: info.orderBy.length === 1,
    MultipleOrderBy: info.orderBy.length > 1,
    Aggregate: aggregates.length > 0,
    MultipleAggregates: aggregates.length > 1,
    NonValueAggregate: aggregates.length > 0 && !info.hasSelectValue && !isGrouped,
    GroupBy: isGrouped,
  }
  return Object.keys(needed).filter((name) => needed[name])
}
