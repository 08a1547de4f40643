import {
  FULL_RANGE,
  epkPrefixRange,
  partitionKeyPathSegments,
  type PartitionKeyComponent,
} from '@tidemark/contracts'
import { singleEpkRange } from '@tidemark/store/engine'
import type { OpenCollection, RangeRecord } from '@tidemark/store'
import { BadRequestError } from '../errors/bad-request-error.ts'
import { epkBounds } from '../protocol/epk-headers.ts'
import { HEADER } from '../protocol/header-names.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import { isTrue } from '../protocol/request-values.ts'
import type { Equality } from '../query/execution/equalities.ts'
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
 * A client that follows one of our plans means the whole container, and sends the query to the first pkrange. That may
 * have split since: the clients of 2026 never get over a 410 while they follow a plan, so that the range's heir answers.
 * Where a client asks all heirs of it, only the first one has rows: undefined for the others.
 *
 * @throws ERR_BAD_REQUEST, ERR_INVALID_PARTITION_KEY, ERR_RANGE_GONE
 */
export async function queryScope(
  request: GatewayRequest,
  { ranges }: GatewayContext,
  { open, isPlanned }: { readonly open: OpenCollection; readonly isPlanned: boolean },
): Promise<RangedScope | undefined> {
  const prefix = partitionKeyPrefix(request, open)
  if (prefix !== undefined) {
    const scope = keyScope(open, prefix)
    return { ...scope, ranges: [await ranges.holding(open, scope.range.minInclusive)] }
  }
  // The client of a plan may know newer ranges than we do.
  const present = isPlanned ? await ranges.refresh(open) : await ranges.of(open)
  const bounds = epkBounds(request)
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  if (number === undefined) {
    return { range: bounds ?? FULL_RANGE, partitionKey: undefined, ranges: present }
  }
  if (isPlanned) {
    const isFirst = bounds === undefined || bounds.minInclusive === ''
    // Only a first range splits into a first range. After a merge others are its forebears too, but a client had its
    // empty page of them with the first answer, and does not ask again.
    const [first] = present
    const isHeir = first?.number === number || first?.parents.includes(number) === true
    return isFirst && isHeir
      ? { range: FULL_RANGE, partitionKey: undefined, ranges: present }
      : undefined
  }
  const range = await ranges.numbered(open, number)
  const { minInclusive, maxExclusive } = range
  return {
    range: bounds ?? { minInclusive, maxExclusive },
    partitionKey: undefined,
    ranges: [range],
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
