import type { DocumentStamp, DocumentVersion } from '@tidemark/contracts/internal'

/*
 * A stored text begins with `_rid`, `_self`, `_etag`, `_ts` and `_lsn`, none of which can hold what is looked for here.
 * Texts are spliced, never parsed: they may be megabytes.
 */

const LSN = ',"_lsn":'
/** The service has it in every document, and nothing behind it any more. */
const ATTACHMENTS = '"_attachments":"attachments/"'

/** A stored text as all answers but feeds have it: there `_lsn` is the feeds' alone, as in the service. */
export function documentText(stored: string): string {
  const at = stored.indexOf(LSN)
  if (at === -1) return stored
  return `${stored.slice(0, at)},${ATTACHMENTS}${stored.slice(stored.indexOf(',', at + LSN.length))}`
}

/** A version as feeds have it. */
export function feedDocumentText(stamp: DocumentStamp, version: DocumentVersion): string {
  return stamp.text(version, `${ATTACHMENTS},`)
}
