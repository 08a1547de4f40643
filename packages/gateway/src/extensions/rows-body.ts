import { LIVE_ROW } from '@tidemark/store/engine'
import type { FeedRowsPage } from '@tidemark/store'

/**
 * Pieces of the body of a page: `{"continuation","lsn","caughtUp","kind","rows":[…]}`, with documents as the texts
 * that the store keeps.
 */
export function rowsBody(
  page: FeedRowsPage,
  { pendingDeletes }: { readonly pendingDeletes: boolean },
): readonly string[] {
  const { continuation, lsn, caughtUp, kind } = page
  const head = JSON.stringify({ continuation, lsn, caughtUp, kind })
  const pieces: string[] = [`${head.slice(0, -1)},"rows":[`]
  for (const row of rowTexts(page, { pendingDeletes })) {
    pieces.push(pieces.length === 1 ? row : `,${row}`)
  }
  pieces.push(']}')
  return pieces
}

function rowTexts(
  page: FeedRowsPage,
  { pendingDeletes }: { readonly pendingDeletes: boolean },
): readonly string[] {
  if (page.kind === 'versions') {
    return page.rows.map(
      ({ lsn, operation, commitMs, id, partitionKey, current = 'null', previous = 'null' }) =>
        `[${lsn},"${operation}",${commitMs},${JSON.stringify(id)},${JSON.stringify(partitionKey)},` +
        `${current},${previous}]`,
    )
  }
  const texts: string[] = []
  for (const [lsn, kind, body, expirySecond] of page.rows) {
    if (kind === LIVE_ROW || pendingDeletes) texts.push(`[${lsn},${kind},${expirySecond},${body}]`)
  }
  return texts
}
