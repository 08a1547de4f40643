/** Width of the LSN in an etag: 2^53 has 14 hex digits. */
const LSN_DIGITS = 14
const COLLECTION_DIGITS = 8

/**
 * The etag of a document version, with its double quotes. A document gets an LSN only once, and a collection number is
 * never reused, so the two identify the version.
 */
export function documentEtag(collection: number, lsn: number): string {
  const left = collection.toString(16).padStart(COLLECTION_DIGITS, '0')
  return `"${left}-${lsn.toString(16).padStart(LSN_DIGITS, '0')}"`
}

/** The LSN in an etag of that collection. Undefined for any other text, which then matches nothing. */
export function etagLsn(collection: number, etag: string): number | undefined {
  const match = /^"([0-9a-f]{8})-([0-9a-f]{14})"$/.exec(etag)
  const [, left = '', right = ''] = match ?? []
  return match && Number.parseInt(left, 16) === collection ? Number.parseInt(right, 16) : undefined
}

/** `ttl` of a document that is to expire at a given second: whole seconds from its `_ts`, at least one. */
export function ttlUntil(expirySecond: number, ts: number): number {
  return Math.max(1, expirySecond - ts)
}

/**
 * The stored text of a document: `head`, the properties that only the commit has, `tail`.
 *
 * `head` is `{"_rid":"…","_self":"…",`, `tail` the user's JSON text without its opening brace. The text is spliced, not
 * parsed, so a document is encoded once.
 */
export function stampBody(
  { head, tail }: { readonly head: string; readonly tail: string },
  {
    collection,
    lsn,
    ts,
    ttl,
  }: {
    readonly collection: number
    readonly lsn: number
    readonly ts: number
    /** Only when the commit computed it from `expirySecond`; otherwise it is in `tail`. */
    readonly ttl?: number | undefined
  },
): string {
  const etag = documentEtag(collection, lsn).slice(1, -1)
  const stamped = `${head}"_etag":"\\"${etag}\\"","_ts":${ts},"_lsn":${lsn},`
  return ttl === undefined ? `${stamped}${tail}` : `${stamped}"ttl":${ttl},${tail}`
}
