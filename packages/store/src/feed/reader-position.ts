import {
  HorizonPassedError,
  InvalidContinuationError,
  lsn,
  type FeedMode,
  type RangePosition,
} from '@tidemark/contracts'
import type { Horizons } from '../engine/horizons.ts'

/** What a page reports about its range. */
interface PageEnd {
  readonly lsn: number
  readonly epoch: number
  readonly horizons: Horizons
  readonly rows: { readonly length: number }
}

/**
 * The LSN up to which something was purged that a reader has not seen: above its position, and since it last read
 * there. Undefined if there is none. A reader that has not received anything yet has missed nothing.
 */
export function missedUpTo(
  { lsn: at, purgeStamp: known }: RangePosition,
  horizons: Horizons,
): number | undefined {
  if (known === undefined) return undefined
  const missed = horizons.filter((horizon) => horizon.stamp > known && horizon.lsn > at)
  return missed.length === 0 ? undefined : Math.max(...missed.map((horizon) => horizon.lsn))
}

/**
 * Rejects a reader for which something was purged that it has not seen (TTL-15).
 *
 * @throws ERR_HORIZON_PASSED
 */
export function assertNothingMissed(position: RangePosition, horizons: Horizons): void {
  const horizon = missedUpTo(position, horizons)
  if (horizon === undefined) return
  const { range, lsn: at } = position
  throw new HorizonPassedError({ range, lsn: at, horizon })
}

/**
 * Rejects a position above everything in its range: a reader that continued there would skip the changes that get the
 * LSNs in between.
 *
 * @throws ERR_INVALID_CONTINUATION
 */
export function assertNotBeyond({ lsn: at }: Pick<RangePosition, 'lsn'>, newestLsn: number): void {
  if (newestLsn >= at) return
  throw new InvalidContinuationError(
    `the position is at LSN ${at}, but the newest of its range is ${newestLsn}: ` +
      'it is of another collection, such as one of this name that was dropped, or of another copy of the store, or the ' +
      'store was restored from an older one',
  )
}

/** The newest of some purges; 0 if there was none. */
export function newestPurge(horizons: Horizons): number {
  return horizons.reduce((newest, { stamp }) => Math.max(newest, stamp), 0)
}

/** The position of a reader after a page. */
export function positionAfter(
  { range, purgeStamp: known }: RangePosition,
  page: PageEnd,
  mode: FeedMode,
): RangePosition {
  // In the log of all versions, an empty page is an answer too: what comes after it must be delivered. A latest-version
  // reader that got no document has no document that could vanish unnoticed.
  const counts = known !== undefined || page.rows.length > 0 || mode === 'allVersions'
  const purgeStamp = counts ? Math.max(known ?? 0, newestPurge(page.horizons)) : undefined
  return { range, epoch: page.epoch, lsn: lsn(page.lsn), purgeStamp }
}
