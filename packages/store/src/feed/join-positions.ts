import {
  InvalidOptionError,
  errorCode,
  feedRangeId,
  lsn,
  type DocumentBody,
  type HeldPosition,
  type Lsn,
  type RangePosition,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'

/**
 * One position for neighbouring ranges which were merged; undefined when there is none yet. Below the
 * merge equal LSNs name different moments of each side, so that all must stand above it.
 *
 * @throws ERR_INVALID_CONTINUATION, and ERR_INVALID_OPTION when the ranges are no neighbours
 */
export async function joinPositions<T extends DocumentBody>(
  reader: FeedReader<T>,
  held: readonly HeldPosition[],
): Promise<RangePosition | undefined> {
  const [first] = held
  const last = held.at(-1)
  if (first === undefined || last === undefined || held.length < 2) {
    throw new InvalidOptionError(`two or more positions are joined, got ${held.length}`)
  }
  assertNeighbours(held)
  const positions = held.map(({ continuation, range }) => reader.position(continuation, range))
  const range = {
    minInclusive: first.range.minInclusive,
    maxExclusive: last.range.maxExclusive,
  }
  const joined = joinedPosition(range, positions)
  if (joined === undefined) return undefined
  const { engine, record } = reader.open
  try {
    return joined.lsn >= (await engine.firstOwnLsn(record, range)) ? joined : undefined
  } catch (error) {
    // Not merged, or split again since.
    if (errorCode(error) === 'ERR_RANGE_GONE') return undefined
    throw error
  }
}

function joinedPosition(
  range: RangePosition['range'],
  positions: readonly RangePosition[],
): RangePosition | undefined {
  const [first] = positions
  if (first === undefined) return undefined
  const same = positions.every(({ lsn: at, epoch }) => at === first.lsn && epoch === first.epoch)
  const horizon = joinedHorizon(first.lsn, positions)
  return same && horizon !== 'differs' ? { ...first, range, horizon } : undefined
}

/**
 * The horizon that makes each part's reader as watchful as it was. At or below the position all are
 * alike; above it only equal ones are.
 */
function joinedHorizon(at: Lsn, positions: readonly RangePosition[]): Lsn | undefined | 'differs' {
  const known = positions.flatMap(({ horizon }) => (horizon === undefined ? [] : [horizon]))
  if (known.length === 0) return undefined
  const highest = lsn(Math.max(...known))
  return highest <= at || known.every((horizon) => horizon === highest) ? highest : 'differs'
}

function assertNeighbours(held: readonly HeldPosition[]): void {
  for (const [index, { range }] of held.entries()) {
    const next = held[index + 1]?.range
    if (next !== undefined && next.minInclusive !== range.maxExclusive) {
      throw new InvalidOptionError(
        `ranges ${feedRangeId(range)} and ${feedRangeId(next)} are no neighbours in EPK order`,
      )
    }
  }
}
