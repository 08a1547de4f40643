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
 * A position that has seen no purge, so that no purge above it goes unnoticed (TTL-15). An LSN does not show which
 * purges an earlier reader at that LSN had seen. A reader on its way from the beginning may be below purges from before
 * its start. If it continues from here, it fails as if it were too late: the two cases cannot be distinguished.
 */
const KNOWS_OF_NO_PURGE = 0

/**
 * The position right after everything of `range` up to an LSN. `page` = continuation of a page that holds the LSN; the
 * position takes the purges that it has seen from there.
 *
 * @throws ERR_INVALID_OPTION when it is no LSN, ERR_INVALID_CONTINUATION when it is above the newest of the range,
 * ERR_RANGE_GONE, ERR_ALL_VERSIONS_OFF
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
