/** What the beginning of a stored text says: the store puts its own properties there, in this order. */
export interface StoredHead {
  /** With its quotes. */
  readonly etag: string
  readonly lsn: number
}

const HEAD = /^\{"_rid":"[^"]*","_self":"[^"]*","_etag":"\\"([^"\\]*)\\"","_ts":\d+,"_lsn":(\d+),/

/** Reads etag and LSN off a stored text without parsing it; undefined when it is no stored text. */
export function storedHead(text: string): StoredHead | undefined {
  const [, etag, lsn] = HEAD.exec(text) ?? []
  return etag === undefined ? undefined : { etag: `"${etag}"`, lsn: Number(lsn) }
}
