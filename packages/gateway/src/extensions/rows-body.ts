import { LIVE_ROW, feedVersion, type DocumentStamp } from '@tidemark/contracts'
import type { FeedRowsPage } from '@tidemark/store/engine'

/**
 * Pieces of the body of a page: `{"continuation","lsn","caughtUp","kind","rows":[…]}`, with documents as JSON
 * text.
 */
export function rowsBody(
  page: FeedRowsPage,
  options: { readonly pendingDeletes: boolean; readonly stamp: DocumentStamp },
): readonly string[] {
  const { continuation, lsn, caughtUp, kind } = page
  const head = JSON.stringify({ continuation, lsn, caughtUp, kind })
  const pieces: string[] = [`${head.slice(0, -1)},"rows":[`]
  for (const row of rowTexts(page, options)) {
    pieces.push(pieces.length === 1 ? row : `,${row}`)
  }
  pieces.push(']}')
  return pieces
}

function rowTexts(
  page: FeedRowsPage,
  { pendingDeletes, stamp }: { readonly pendingDeletes: boolean; readonly stamp: DocumentStamp },
): readonly string[] {
  if (page.kind === 'versions') {
    return page.rows.map(
      ({ lsn, operation, commitMs, id, partitionKey, current, previous }) =>
        `[${lsn},"${operation}",${commitMs},${JSON.stringify(id)},${JSON.stringify(partitionKey)},` +
        `${current ? stamp.text(current) : 'null'},${previous ? stamp.text(previous) : 'null'}]`,
    )
  }
  const texts: string[] = []
  for (const row of page.rows) {
    const [lsn, kind, , expirySecond, ts] = row
    if (kind !== LIVE_ROW && !pendingDeletes) continue
    texts.push(`[${lsn},${kind},${expirySecond},${ts},${stamp.text(feedVersion(row))}]`)
  }
  return texts
}
