import {
  InvalidOptionError,
  type DocumentBody,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type RangePosition,
} from '@tidemark/contracts'
import { type FeedRow, type VersionRow } from '@tidemark/contracts/internal'
import { resolveItemCount } from '../paging/item-count.ts'
import type { FeedReader } from './feed-reader.ts'

/** A page of the feed whose documents were not decoded: for HTTP answers and copies. */
export interface FeedTextPage extends FeedPosition {
  /** Each document as JSON text, system properties included, in LSN order. */
  readonly bodies: readonly string[]
  readonly caughtUp: boolean
}

/**
 * A page of the feed as the engine returns it, with everything that a reader elsewhere needs to turn it into changes.
 * Always includes the rows of pending deletes.
 */
export type FeedRowsPage = FeedPosition & { readonly caughtUp: boolean } & (
    | { readonly kind: 'documents'; readonly rows: readonly FeedRow[] }
    | { readonly kind: 'versions'; readonly rows: readonly VersionRow[] }
  )

/** One page by its continuation. */
export async function readPage<T extends DocumentBody>(
  reader: FeedReader<T>,
  request: FeedPageRequest,
): Promise<FeedPage<T>> {
  const { pendingDeletes = true, signal } = request
  const from = reader.position(request.continuation, request.range)
  const maxItems = resolveItemCount(request.maxItemCount)
  const { changes, position, caughtUp } = await reader.read(from, {
    maxItems,
    pendingDeletes,
    signal,
  })
  return { changes, ...feedPosition(reader, position), caughtUp }
}

/** As `readPage`, not decoded. */
export async function readRowsPage<T extends DocumentBody>(
  reader: FeedReader<T>,
  request: FeedPageRequest,
): Promise<FeedRowsPage> {
  const { pendingDeletes = true, signal } = request
  const from = reader.position(request.continuation, request.range)
  const maxItems = resolveItemCount(request.maxItemCount)
  const { position, ...page } = await reader.readRows(from, { maxItems, pendingDeletes, signal })
  return { ...page, ...feedPosition(reader, position) }
}

/** As `readPage`, with documents as JSON text and without pending deletes. */
export async function readTextPage<T extends DocumentBody>(
  reader: FeedReader<T>,
  request: FeedPageRequest,
): Promise<FeedTextPage> {
  if (reader.mode !== 'latestVersion') {
    throw new InvalidOptionError(`pages of text are of mode "latestVersion", not "${reader.mode}"`)
  }
  const from = reader.position(request.continuation, request.range)
  const maxItems = resolveItemCount(request.maxItemCount)
  const { bodies, position, caughtUp } = await reader.readText(from, {
    maxItems,
    signal: request.signal,
  })
  return { bodies, ...feedPosition(reader, position), caughtUp }
}

/** A position in the form that users keep. */
export function feedPosition<T extends DocumentBody>(
  reader: FeedReader<T>,
  position: RangePosition,
): FeedPosition {
  return { continuation: reader.continuationOf(position), lsn: position.lsn }
}
