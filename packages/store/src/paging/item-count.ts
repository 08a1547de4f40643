import { InvalidOptionError } from '@tidemark/contracts'

/** The store's own choice for a page: large enough that a page's fixed cost does not matter. */
const DEFAULT_ITEMS = 1000
/** Of a page, whoever asks for more: reading, decoding and sending it takes some ten milliseconds of the event loop. */
const MAX_ITEMS = 5000
/** Characters of text that end a page of documents early, so that large documents do not make large pages. */
export const MAX_PAGE_CHARS: number = 4 * 1024 * 1024
/**
 * As `MAX_PAGE_CHARS`, of a feed. A worker holds a few pages of each of its ranges, and they should die young: of
 * documents of 7 KB on four ranges, all texts were promoted to the old generation with pages of 4 MiB, and one in a
 * hundred with pages of 1 MiB. 1,000 documents of 1 KB are still one page.
 */
export const MAX_FEED_PAGE_CHARS: number = 1024 * 1024

/**
 * The number of items of a page; absent or -1 = the store chooses (ST-8, CF-7). Whoever asks for more than
 * `most` gets the rest with the next page.
 *
 * @throws ERR_INVALID_OPTION for 0, other negatives and fractions
 */
export function resolveItemCount(
  maxItemCount: number | undefined,
  { most = MAX_ITEMS }: { readonly most?: number } = {},
): number {
  if (maxItemCount === undefined || maxItemCount === -1) return DEFAULT_ITEMS
  if (!Number.isSafeInteger(maxItemCount) || maxItemCount < 1) {
    throw new InvalidOptionError(
      `maxItemCount must be -1 or a whole number above 0, got ${String(maxItemCount)}`,
    )
  }
  return Math.min(maxItemCount, most)
}
