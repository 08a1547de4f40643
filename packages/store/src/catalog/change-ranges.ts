import {
  InvalidOptionError,
  RangeGoneError,
  ResourceNotFoundError,
  feedRangeId,
} from '@tidemark/contracts'
import type { RangeRecord } from '../engine/catalog.ts'
import { RangeIndivisibleError } from '../errors/range-indivisible-error.ts'
import type { FoundRecord } from './change-settings.ts'
import { middleOfRange } from './middle-of-range.ts'

/**
 * Splits a pkrange in two (ST-9).
 *
 * @throws ERR_RANGE_GONE naming successors, ERR_NOT_FOUND, ERR_RANGE_INDIVISIBLE, ERR_INVALID_OPTION
 */
export async function splitRange(
  found: FoundRecord,
  { rangeId, at }: { readonly rangeId: string; readonly at?: string | undefined },
): Promise<readonly [RangeRecord, RangeRecord]> {
  const { engine, record } = found
  const range = presentRange(await engine.listRanges(record), rangeId)
  if (at !== undefined) assertInside(at, range)
  const point = at ?? (await splitPoint(found, range))
  if (point === undefined) throw new RangeIndivisibleError(rangeId)
  return engine.splitRange({ collection: record, range: range.number, at: point })
}

/**
 * The EPK that divides a range's documents evenly, or its keys while it has no documents. Undefined when the range
 * cannot be divided.
 */
export async function splitPoint(
  { engine, record }: FoundRecord,
  range: RangeRecord,
): Promise<string | undefined> {
  const middle = await engine.middleEpk(record, range.number)
  if (middle !== undefined) return middle
  const { documents } = await engine.measureRange(record, range.number)
  return documents === 0 ? middleOfRange(range, record.definition.partitionKey) : undefined
}

/**
 * Merges two neighbouring pkranges, given in either order (ST-9).
 *
 * @throws ERR_RANGE_GONE naming successors, ERR_NOT_FOUND, ERR_INVALID_OPTION when they are not neighbours
 */
export async function mergeRanges(
  { engine, record }: FoundRecord,
  rangeIds: readonly [string, string],
): Promise<RangeRecord> {
  const present = await engine.listRanges(record)
  const [first, second] = [presentRange(present, rangeIds[0]), presentRange(present, rangeIds[1])]
  const [low, high] = first.minInclusive < second.minInclusive ? [first, second] : [second, first]
  if (low.maxExclusive !== high.minInclusive) {
    throw new InvalidOptionError(
      `pkranges ${rangeIds[0]} (${feedRangeId(first)}) and ${rangeIds[1]} (${feedRangeId(second)}) ` +
        'are not neighbours',
    )
  }
  return engine.mergeRanges({ collection: record, ranges: [low.number, high.number] })
}

/** @throws ERR_RANGE_GONE naming successors, ERR_NOT_FOUND when there never was such a range */
function presentRange(present: readonly RangeRecord[], rangeId: string): RangeRecord {
  const number = /^\d+$/.test(rangeId) ? Number(rangeId) : undefined
  const found = present.find((range) => range.number === number)
  if (found !== undefined) return found
  const successors = present
    .filter(({ parents }) => number !== undefined && parents.includes(number))
    .map(({ minInclusive, maxExclusive }) => ({ minInclusive, maxExclusive }))
  if (successors.length > 0) throw new RangeGoneError(rangeId, successors)
  throw new ResourceNotFoundError('range', rangeId)
}

function assertInside(at: string, range: RangeRecord): void {
  const isEpk = typeof at === 'string' && /^(?:[0-9A-F]{2})+$/.test(at)
  if (isEpk && range.minInclusive < at && at < range.maxExclusive) return
  throw new InvalidOptionError(
    `at must be an effective partition key (upper-case hex) inside ${feedRangeId(range)}, ` +
      `got ${JSON.stringify(at)}`,
  )
}
