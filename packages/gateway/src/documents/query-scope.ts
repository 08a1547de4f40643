import {
  FULL_RANGE,
  epkPrefixRange,
  partitionKeyPathSegments,
  rangesEqual,
  type PartitionKeyComponent,
} from '@tidemark/contracts'
import { singleEpkRange, type OpenCollection, type RangeRecord } from '@tidemark/store'
import { epkBounds } from '../protocol/epk-headers.ts'
import { HEADER } from '../protocol/header-names.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import { queryTraits } from '../query/query-plan.ts'
import type { Equality } from '../query/execution/equalities.ts'
import type { Query } from '../query/syntax/query.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import { partitionKeyPrefix } from './partition-key-header.ts'
import type { QueryScope } from './query-source.ts'

/** A scope with the pkranges that it touches. */
export interface RangedScope extends QueryScope {
  readonly ranges: readonly RangeRecord[]
}

/** Nothing: no key is below the lowest. */
const NO_KEYS: QueryScope = {
  range: { minInclusive: '', maxExclusive: '' },
  partitionKey: undefined,
}

/**
 * What a query looks at: by partition key header (a prefix too), by pkrange or EPK headers, else everything.
 *
 * A client that follows a plan sends the query to every pkrange and puts the answers one after the other, because our
 * plans leave it nothing else to do. A query that concerns all ranges together (ORDER BY, COUNT, …) is therefore
 * answered as a whole by the first range, and with no row by the others: undefined.
 *
 * @throws ERR_BAD_REQUEST, ERR_INVALID_PARTITION_KEY, ERR_RANGE_GONE
 */
export async function queryScope(
  request: GatewayRequest,
  { ranges }: GatewayContext,
  { open, query }: { readonly open: OpenCollection; readonly query: Query },
): Promise<RangedScope | undefined> {
  const prefix = partitionKeyPrefix(request, open)
  if (prefix !== undefined) {
    const scope = keyScope(open, prefix)
    return { ...scope, ranges: [await ranges.holding(open, scope.range.minInclusive)] }
  }
  const present = await ranges.of(open)
  const bounds = epkBounds(request)
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  if (number === undefined) {
    return { range: bounds ?? FULL_RANGE, partitionKey: undefined, ranges: present }
  }
  const { minInclusive, maxExclusive, ...range } = await ranges.numbered(open, number)
  const whole = { minInclusive, maxExclusive }
  const ofRange = { partitionKey: undefined, ranges: [{ ...range, ...whole }] }
  const isWhole = bounds === undefined || rangesEqual(bounds, whole)
  if (!queryTraits(query).spansRanges || !isWhole) return { ...ofRange, range: bounds ?? whole }
  return minInclusive === '' ? { ...ofRange, range: FULL_RANGE } : undefined
}

/** The scope within a wider one when WHERE itself names the whole partition key value; else the wider one. */
export function narrowedScope(
  open: OpenCollection,
  scope: QueryScope,
  conditions: readonly Equality[],
): QueryScope {
  if (scope.partitionKey !== undefined || conditions.length === 0) return scope
  const components: PartitionKeyComponent[] = []
  for (const path of open.record.definition.partitionKey.paths) {
    const segments = partitionKeyPathSegments(path).join('/')
    const value = conditions.find((condition) => condition.path.join('/') === segments)?.value
    // An object or array as value is no key, and finds nothing that one key could narrow.
    if (value === undefined || (typeof value === 'object' && value !== null)) return scope
    components.push(value)
  }
  const narrow = keyScope(open, components)
  const isInside =
    scope.range.minInclusive <= narrow.range.minInclusive &&
    narrow.range.minInclusive < scope.range.maxExclusive
  return isInside ? narrow : NO_KEYS
}

function keyScope(open: OpenCollection, prefix: readonly PartitionKeyComponent[]): QueryScope {
  if (prefix.length < open.record.definition.partitionKey.paths.length) {
    return { range: epkPrefixRange(prefix), partitionKey: undefined }
  }
  const { epk, text } = open.encoder.encodeKey(prefix)
  return { range: singleEpkRange(epk), partitionKey: text }
}
