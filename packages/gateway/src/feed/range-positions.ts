import type { RangeRecord } from '@tidemark/store/engine'
import { InvalidContinuationError } from '@tidemark/contracts'

/**
 * Ranges that are read in turn at most: an etag holds a position for each, and headers have a limit. Beyond this a
 * client has to name one.
 */
export const MAX_RANGES_IN_TURN = 100

/** Positions in several pkranges by their numbers, in the order in which they are to be read. */
export type RangePositions = ReadonlyMap<number, number>

type Family = Pick<RangeRecord, 'number' | 'parents'>

/** The etag of positions in several pkranges, with its quotes: `"0:12,3:9"`. */
export function rangesEtag(positions: RangePositions): string {
  return `"${[...positions].map(([range, lsn]) => `${range}:${lsn}`).join(',')}"`
}

/** The positions of such an etag; undefined for any other text. */
export function parseRangesEtag(etag: string): RangePositions | undefined {
  if (!/^"?\d{1,9}:\d{1,16}(?:,\d{1,9}:\d{1,16})*"?$/.test(etag)) return undefined
  const entries = etag.replaceAll('"', '').split(',')
  if (entries.length > MAX_RANGES_IN_TURN) return undefined
  return new Map(
    entries.map((entry) => {
      const [range = '', lsn = ''] = entry.split(':')
      return [Number(range), Number(lsn)] as const
    }),
  )
}

/**
 * The position in one range. A range that is newer than the etag goes on from its parent, whose LSNs it kept; one that
 * was merged from several goes on from the lowest, so that some changes may come again and none is left out.
 *
 * @throws ERR_INVALID_CONTINUATION when the etag knows neither the range nor a parent
 */
export function positionIn(positions: RangePositions, { number, parents }: Family): number {
  const own = positions.get(number)
  if (own !== undefined) return own
  const inherited = parents.flatMap((parent) => positions.get(parent) ?? [])
  if (inherited.length > 0) return Math.min(...inherited)
  throw new InvalidContinuationError(`the etag has no position for pkrange ${number}`)
}
