import type { DocumentBody } from '../documents/document.ts'
import { InvalidContinuationError } from '../errors/invalid-continuation-error.ts'
import type { FeedPage } from './change-feed-source.ts'
import type { Change } from './change.ts'
import { decodeContinuation, encodeContinuation } from './continuation.ts'

/**
 * Cuts a page of one range into pages of at most `maxItemCount` changes, each of whole transactions (CF-7). A position is as it would be
 * if the part had been read alone at the same moment. At least one page comes back.
 *
 * @throws ERR_INVALID_CONTINUATION when the page is of a feed with continuations of its own, or of several ranges, as those of
 *   `changes()`: each of them has LSNs of its own
 */
export function cutPage<T extends DocumentBody>(
  page: FeedPage<T>,
  maxItemCount: number,
): readonly FeedPage<T>[] {
  const { changes } = page
  if (changes.length <= maxItemCount) return [page]
  const { positions, ...token } = decodeContinuation(page.continuation)
  const [position, ...others] = positions
  if (position === undefined || others.length > 0) {
    throw new InvalidContinuationError('a page of several ranges cannot be cut')
  }
  const pages: FeedPage<T>[] = []
  let start = 0
  for (let end = cutAfter(changes, start, maxItemCount); end < changes.length;) {
    const { lsn } = changes[end - 1]!
    const continuation = encodeContinuation({
      ...token,
      positions: [{ ...position, lsn }],
    })
    pages.push({ changes: changes.slice(start, end), continuation, lsn, caughtUp: false })
    start = end
    end = cutAfter(changes, start, maxItemCount)
  }
  return [...pages, { ...page, changes: changes.slice(start) }]
}

/** Where the transactions end that fit; behind the first one if that is too large. */
function cutAfter(changes: readonly Change[], start: number, maxItemCount: number): number {
  const isBoundary = (at: number): boolean => changes[at - 1]?.lsn !== changes[at]?.lsn
  const limit = Math.min(start + maxItemCount, changes.length)
  let end = limit
  while (end > start && !isBoundary(end)) end -= 1
  if (end > start) return end
  end = limit
  while (!isBoundary(end)) end += 1
  return end
}
