import { murmur3x86 } from '@tidemark/contracts/internal'

/*
 * Resource ids as on the wire: base64 with `-` for `/`. A database has 4 bytes, a collection 8 of
 * which the first 4 are its database's.
 */

/** An odd number: multiplying by it modulo 2^32 gives every number another value. */
const SPREAD = 0x9e3779b1
/** Distinguishes collections from other resources of a database. */
const COLLECTION_BIT = 0x80000000

/**
 * The `_rid` of a store's `number`th database. It differs for every number of one store, and almost certainly between
 * stores, so that a continuation does not accidentally fit in another store.
 */
export function databaseRid(storeId: string, number: number): string {
  const offset = murmur3x86(new TextEncoder().encode(storeId))
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE((offset + Math.imul(number, SPREAD)) >>> 0)
  return ridText(bytes)
}

/** The `_rid` of a database's `number`th collection. */
export function collectionRid(rid: string, number: number): string {
  const bytes = Buffer.alloc(8)
  ridBytes(rid).copy(bytes)
  bytes.writeUInt32BE((number | COLLECTION_BIT) >>> 0, 4)
  return ridText(bytes)
}

export function ridBytes(rid: string): Buffer {
  return Buffer.from(rid.replaceAll('-', '/'), 'base64')
}

export function ridText(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('/', '-')
}

/** `_self` of a collection: `dbs/{rid}/colls/{rid}/`. */
export function collectionSelfLink({ rid }: { readonly rid: string }): string {
  return `dbs/${ridText(ridBytes(rid).subarray(0, 4))}/colls/${rid}/`
}

/** Etag of a new database or collection record, with its double quotes. */
export function recordEtag(rid: string, ts: number): string {
  return `"${ridBytes(rid).toString('hex')}-${ts.toString(16).padStart(10, '0')}"`
}

/**
 * Etag of a database's or collection's record after a change. It differs from the previous one even within the same
 * second.
 */
export function changedRecordEtag(rid: string, etag: string, ts: number): string {
  const before = Number.parseInt(/-([0-9a-f]+)"$/.exec(etag)?.[1] ?? '0', 16)
  return recordEtag(rid, Math.max(before + 1, ts))
}
