import {
  commonKeys,
  feedRangeId,
  rangeContains,
  RangeGoneError,
  type FeedRange,
  BadRequestError,
} from '@tidemark/contracts'
import { epkPrefixRange } from '@tidemark/contracts/internal'
import { singleEpkRange, type OpenCollection, type RangeRecord } from '@tidemark/store/engine'
import { partitionKeyPrefix } from '../documents/partition-key-header.ts'
import { HEADER } from '../protocol/header-names.ts'
import { epkBounds } from '../protocol/epk-headers.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import { MAX_RANGES_IN_TURN } from './range-positions.ts'

/** What of a container a request reads: keys within one pkrange. */
export interface FeedScope {
  readonly range: RangeRecord
  readonly keys: FeedRange
  /** Canonical text of the one partition key value that is read; undefined = all of the keys. */
  readonly partitionKey: string | undefined
}

/**
 * The scope of a feed read: by partition key header, by pkrange header, narrowed by EPK headers. Without any of them
 * all pkranges of the container.
 *
 * @throws ERR_BAD_REQUEST, ERR_INVALID_PARTITION_KEY, ERR_RANGE_GONE
 */
export async function feedScopes(
  request: GatewayRequest,
  context: GatewayContext,
  open: OpenCollection,
): Promise<readonly FeedScope[]> {
  assertIntended(request, open.record)
  const named = await namedScope(request, context, open)
  if (named !== undefined) return [named]
  const present = await context.ranges.refresh(open)
  if (present.length > MAX_RANGES_IN_TURN) {
    throw new BadRequestError(
      `the container has ${present.length} pkranges: name one by header ${HEADER.pkRangeId}`,
    )
  }
  return present.map((range) => ({ range, keys: keysOf(range), partitionKey: undefined }))
}

async function namedScope(
  request: GatewayRequest,
  { ranges }: GatewayContext,
  open: OpenCollection,
): Promise<FeedScope | undefined> {
  const prefix = partitionKeyPrefix(request, open)
  const bounds = epkBounds(request)
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  if (prefix !== undefined) {
    const isFull = prefix.length === open.record.definition.partitionKey.paths.length
    const key = isFull ? open.encoder.encodeKey(prefix) : undefined
    const keys = key === undefined ? epkPrefixRange(prefix) : singleEpkRange(key.epk)
    const range =
      number === undefined
        ? await ranges.holding(open, keys.minInclusive)
        : await ranges.numbered(open, number)
    if (number === undefined && !rangeContains(range, keys)) {
      throw new BadRequestError(
        `the keys of this prefix are in several pkranges: name one by header ${HEADER.pkRangeId}`,
      )
    }
    return { range, keys: within(range, keys), partitionKey: key?.text }
  }
  if (number !== undefined) {
    const range = await ranges.numbered(open, number)
    return { range, keys: within(range, bounds ?? range), partitionKey: undefined }
  }
  if (bounds === undefined) return undefined
  await ranges.refresh(open)
  const range = await ranges.holding(open, bounds.minInclusive)
  // One etag is of one pkrange: what lies in the next one would never be read.
  if (!rangeContains(range, bounds)) throw new RangeGoneError(feedRangeId(bounds), [])
  return { range, keys: bounds, partitionKey: undefined }
}

function within(range: RangeRecord, wanted: FeedRange): FeedRange {
  const keys = commonKeys(range, wanted)
  // The keys are in another range by now: the client lists the ranges again.
  if (keys === undefined) throw new RangeGoneError(String(range.number), [])
  return keys
}

function keysOf({ minInclusive, maxExclusive }: FeedRange): FeedRange {
  return { minInclusive, maxExclusive }
}
