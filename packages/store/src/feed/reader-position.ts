import { HorizonPassedError, lsn, type FeedMode, type RangePosition } from '@tidemark/contracts'

/** What a page says of the range that it was read from. */
interface PageEnd {
  readonly lsn: number
  readonly epoch: number
  readonly horizon: number
  readonly rows: { readonly length: number }
}

/**
 * Refuses a reader for whom something was purged that it has not seen: above its position, and since it
 * last read there. One to whom nothing was delivered yet has missed nothing (TTL-15).
 *
 * @throws ERR_HORIZON_PASSED
 */
export function assertNothingMissed(
  { range, lsn: at, horizon: known }: RangePosition,
  horizon: number,
): void {
  if (known === undefined || horizon <= at || horizon <= known) return
  throw new HorizonPassedError({ range, lsn: at, horizon })
}

/** Where a reader stands after a page. */
export function positionAfter(
  { range, horizon: known }: RangePosition,
  page: PageEnd,
  mode: FeedMode,
): RangePosition {
  // Of the log of all versions an empty page is an answer too: what comes after it must be delivered.
  // A latest-version reader that got no document has none that could vanish behind its back.
  const counts = known !== undefined || page.rows.length > 0 || mode === 'allVersions'
  const horizon = counts ? lsn(page.horizon) : undefined
  return { range, epoch: page.epoch, lsn: lsn(page.lsn), horizon }
}
