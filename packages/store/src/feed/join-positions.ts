import {
  InvalidOptionError,
  errorCode,
  feedRangeId,
  type DocumentBody,
  type HeldPosition,
  type RangePosition,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'
import { missedUpTo } from './reader-position.ts'

/**
 * One position for neighbouring ranges that were merged; undefined when there is none yet. Below the merge, equal LSNs
 * mean different moments on each side, so all positions must be above it.
 *
 * @throws ERR_INVALID_CONTINUATION, and ERR_INVALID_OPTION when the ranges are not neighbours
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
  const { engine, record: collection } = reader.open
  try {
    if (joined.lsn < (await engine.firstOwnLsn(collection, range))) return undefined
    // One part may have seen a purge above the position that another has not seen: not yet, then.
    const start = { kind: 'now' } as const
    const { horizons } = await engine.resolveStart({ collection, range, start, mode: reader.mode })
    return missedUpTo(joined, horizons) === undefined ? joined : undefined
  } catch (error) {
    // Not merged, or split again since.
    if (errorCode(error) === 'ERR_RANGE_GONE') return undefined
    throw error
  }
}

/** As strict as the part that has seen the fewest purges. */
function joinedPosition(
  range: RangePosition['range'],
  positions: readonly RangePosition[],
): RangePosition | undefined {
  const [first] = positions
  if (first === undefined) return undefined
  const same = positions.every(({ lsn, epoch }) => lsn === first.lsn && epoch === first.epoch)
  const known = positions.flatMap(({ purgeStamp }) =>
    purgeStamp === undefined ? [] : [purgeStamp],
  )
  const purgeStamp = known.length === 0 ? undefined : Math.min(...known)
  return same ? { ...first, range, purgeStamp } : undefined
}

function assertNeighbours(held: readonly HeldPosition[]): void {
  for (const [index, { range }] of held.entries()) {
    const next = held[index + 1]?.range
    if (next !== undefined && next.minInclusive !== range.maxExclusive) {
      throw new InvalidOptionError(
        `ranges ${feedRangeId(range)} and ${feedRangeId(next)} are not neighbours in EPK order`,
      )
    }
  }
}
