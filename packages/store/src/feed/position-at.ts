import {
  InvalidOptionError,
  lsn,
  type DocumentBody,
  type FeedRange,
  type RangePosition,
} from '@tidemark/contracts'
import type { FeedReader } from './feed-reader.ts'
import { assertNotBeyond } from './reader-position.ts'

/**
 * Knows of no purge, so that none above the position is passed over in silence (TTL-15). An LSN does not say
 * which ones a reader that stood there knew of: one that was on its way from the beginning, below what had been
 * purged before it came, fails from here as if it were too late. There is no telling the two apart.
 */
const KNOWS_OF_NO_PURGE = 0

/**
 * The position right behind everything of `range` up to an LSN; `page` = continuation of a page that holds it, of
 * which the position takes over the knowledge of purges.
 *
 * @throws ERR_INVALID_OPTION when it is no LSN, ERR_INVALID_CONTINUATION when it is above the newest of the
 * range, ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF
 */
export async function positionAt<T extends DocumentBody>(
  reader: FeedReader<T>,
  {
    range,
    lsn: at,
    page,
  }: { readonly range: FeedRange; readonly lsn: number; readonly page?: string | undefined },
): Promise<RangePosition> {
  if (!Number.isSafeInteger(at) || at < 0) {
    throw new InvalidOptionError(`lsn must be a whole number from 0 on, got ${String(at)}`)
  }
  const { engine, record: collection } = reader.open
  const start = { kind: 'now' } as const
  const newest = await engine.resolveStart({ collection, range, start, mode: reader.mode })
  const read = page === undefined ? undefined : reader.position(page, range)
  const purgeStamp = read?.purgeStamp ?? KNOWS_OF_NO_PURGE
  const position = { range, epoch: newest.epoch, lsn: lsn(at), purgeStamp }
  assertNotBeyond(position, newest.lsn)
  return position
}
