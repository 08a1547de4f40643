import {
  LIVE_ROW,
  type DocumentVersion,
  type StampedCollection,
} from '@tidemark/contracts/internal'
import type { FeedRowsPage } from '@tidemark/store/engine'
import {
  TEXTS_END,
  TEXTS_START,
  type FeedRowOnWire,
  type VersionOnWire,
  type VersionRowOnWire,
} from '../protocol/extension-wire.ts'

/** Pieces of the body of a page, as `PageOnWire` has it. */
export function rowsBody(
  page: FeedRowsPage,
  options: { readonly pendingDeletes: boolean; readonly collection: StampedCollection },
): readonly string[] {
  const { continuation, lsn, caughtUp, kind } = page
  const { number, rid, selfLink } = options.collection
  const texts: string[] = []
  const rows = rowsOf(page, options.pendingDeletes, texts)
  const collection = { number, rid, selfLink }
  const head = JSON.stringify({ continuation, lsn, caughtUp, kind, collection, rows })
  const pieces: string[] = [head.slice(0, -1) + TEXTS_START]
  for (const [index, text] of texts.entries()) {
    // A comma by itself: put before a text it would copy that.
    if (index > 0) pieces.push(',')
    pieces.push(text)
  }
  pieces.push(TEXTS_END)
  return pieces
}

function rowsOf(
  page: FeedRowsPage,
  pendingDeletes: boolean,
  texts: string[],
): readonly (FeedRowOnWire | VersionRowOnWire)[] {
  const versionOf = ({ body, ...version }: DocumentVersion): VersionOnWire => {
    texts.push(body)
    return { ...version, body: body.length }
  }
  if (page.kind === 'versions') {
    return page.rows.map((row) => ({
      ...row,
      current: row.current && versionOf(row.current),
      previous: row.previous && versionOf(row.previous),
    }))
  }
  const rows: FeedRowOnWire[] = []
  for (const row of page.rows) {
    const [lsn, kind, body, ...rest] = row
    if (kind !== LIVE_ROW && !pendingDeletes) continue
    texts.push(body)
    rows.push([lsn, kind, body.length, ...rest])
  }
  return rows
}
