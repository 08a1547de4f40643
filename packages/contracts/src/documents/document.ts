/** What every document has. Users' own types extend it. */
export interface DocumentBody {
  /** 1 to 255 characters, none of `/ \ ? #`. Unique within its partition key value. */
  readonly id: string
}

/** What the store adds to each document (ST-2). A user's values of these names are ignored on write. */
export interface SystemProperties {
  readonly _rid: string
  readonly _self: string
  /** Changes with every write. Contains double quotes, as on the wire. */
  readonly _etag: string
  /** Epoch seconds of the last change, by the store's clock. */
  readonly _ts: number
  /** LSN of the transaction that wrote this version. */
  readonly _lsn: number
}

/** A document as the store returns it. */
export type Stored<T extends DocumentBody> = T & SystemProperties

/** Names that the store owns at the top level of a document. */
export const SYSTEM_PROPERTIES = ['_rid', '_self', '_etag', '_ts', '_lsn', '_attachments'] as const
