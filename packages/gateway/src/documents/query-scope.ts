import {
  FULL_RANGE,
  commonKeys,
  type FeedRange,
  type PartitionKeyComponent,
  BadRequestError,
} from '@tidemark/contracts'
import { epkPrefixRange, partitionKeyPathSegments } from '@tidemark/contracts/internal'
import { singleEpkRange, type OpenCollection, type RangeRecord } from '@tidemark/store/engine'
import { epkBounds } from '../protocol/epk-headers.ts'
import { HEADER } from '../protocol/header-names.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import { isTrue } from '../protocol/request-values.ts'
import type { Equality } from '../query/execution/equalities.ts'
import type { QueryRange } from '../query/plan/query-plan.ts'
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
 * What a query looks at: by partition key header (a prefix too), by pkrange and EPK headers, else everything. Where several
 * of them are there, what they have in common. A pkrange that has split goes on answering for its keys: clients of 2026
 * never get over a 410 while they follow a plan.
 *
 * @throws ERR_BAD_REQUEST, ERR_INVALID_PARTITION_KEY, ERR_RANGE_GONE
 */
export async function queryScope(
  request: GatewayRequest,
  { ranges }: GatewayContext,
  open: OpenCollection,
): Promise<RangedScope> {
  const prefix = partitionKeyPrefix(request, open)
  const named = prefix && keyScope(open, prefix)
  if (named?.partitionKey !== undefined) {
    return { ...named, ranges: [await ranges.holding(open, named.range.minInclusive)] }
  }
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  const present =
    number === undefined ? await ranges.of(open) : await ranges.numberedOrSplit(open, number)
  let common: FeedRange | undefined = {
    minInclusive: present[0]?.minInclusive ?? '',
    maxExclusive: present.at(-1)?.maxExclusive ?? '',
  }
  for (const one of [epkBounds(request), named?.range]) {
    if (one !== undefined) common = common && commonKeys(common, one)
  }
  if (common === undefined) return { ...NO_KEYS, ranges: present }
  const { minInclusive, maxExclusive } = common
  return {
    range: { minInclusive, maxExclusive },
    partitionKey: undefined,
    ranges: present.filter((one) => commonKeys(one, common) !== undefined),
  }
}

/**
 * Refuses a query over several pkranges that nothing narrows, unless the client allows it. No header means no, as in the
 * service.
 *
 * @throws ERR_BAD_REQUEST
 */
export function assertCrossPartition(
  { header }: GatewayRequest,
  ranges: readonly RangeRecord[],
): void {
  const narrowing = [HEADER.partitionKey, HEADER.pkRangeId, HEADER.startEpk, HEADER.endEpk]
  if (ranges.length <= 1 || isTrue(header(HEADER.enableCrossPartition))) return
  if (narrowing.some((name) => header(name) !== undefined)) return
  // In the service's words at first: clients look for them.
  throw new BadRequestError(
    `Cross partition query is required but disabled: set header ${HEADER.enableCrossPartition} to true, ` +
      `or name one partition key value by header ${HEADER.partitionKey} or in WHERE`,
  )
}

/** The scope within a wider one when WHERE itself names the whole partition key value; else the wider one. */
export function narrowedScope(
  open: OpenCollection,
  scope: QueryScope,
  conditions: readonly Equality[],
): QueryScope {
  if (scope.partitionKey !== undefined) return scope
  const prefix = namedPrefix(open, conditions)
  if (prefix.length < open.record.definition.partitionKey.paths.length) return scope
  const narrow = keyScope(open, prefix)
  const isInside =
    scope.range.minInclusive <= narrow.range.minInclusive &&
    narrow.range.minInclusive < scope.range.maxExclusive
  return isInside ? narrow : NO_KEYS
}

/** Where a plan sends a query: to the partition key value that WHERE names, or a prefix of it, else everywhere. */
export function plannedRange(open: OpenCollection, conditions: readonly Equality[]): QueryRange {
  const prefix = namedPrefix(open, conditions)
  const { range, partitionKey } =
    prefix.length === 0 ? { range: FULL_RANGE, partitionKey: undefined } : keyScope(open, prefix)
  const isOneKey = partitionKey !== undefined
  return {
    min: range.minInclusive,
    max: isOneKey ? range.minInclusive : range.maxExclusive,
    isMinInclusive: true,
    isMaxInclusive: isOneKey,
  }
}

/** The first components of the partition key value for which the conditions name one. */
function namedPrefix(
  open: OpenCollection,
  conditions: readonly Equality[],
): readonly PartitionKeyComponent[] {
  const components: PartitionKeyComponent[] = []
  if (conditions.length === 0) return components
  for (const path of open.record.definition.partitionKey.paths) {
    const segments = partitionKeyPathSegments(path).join('/')
    const value = conditions.find((condition) => condition.path.join('/') === segments)?.value
    // An object or array as value is no key, and finds nothing that one key could narrow.
    if (value === undefined || (typeof value === 'object' && value !== null)) break
    components.push(value)
  }
  return components
}

function keyScope(open: OpenCollection, prefix: readonly PartitionKeyComponent[]): QueryScope {
  if (prefix.length < open.record.definition.partitionKey.paths.length) {
    return { range: epkPrefixRange(prefix), partitionKey: undefined }
  }
  const { epk, text } = open.encoder.encodeKey(prefix)
  return { range: singleEpkRange(epk), partitionKey: text }
}
