import {
  extractPartitionKey,
  lsn,
  parsePartitionKeyText,
  partitionKeyOf,
  partitionKeyPathSegments,
  type Change,
  type DocumentBody,
  type FeedPage,
  type PartitionKeyDefinition,
  type Stored,
  type VersionChange,
} from '@tidemark/contracts'
import type { DocumentRow, VersionRowOnWire } from '../protocol/extension-wire.ts'
import { isJsonRecord } from '../protocol/request-values.ts'
import { notOurs, positionOf } from './call-extension.ts'

/** Kind of a row that is a document; the other is a pending delete. */
const DOCUMENT_ROW = 0

/**
 * Makes a page of what our gateway answers.
 *
 * @throws ERR_SERVER_UNSUPPORTED when it is none
 */
export function pageOf<T extends DocumentBody>(
  value: unknown,
  { paths }: PartitionKeyDefinition,
): FeedPage<T> {
  if (!isJsonRecord(value)) throw notOurs('page')
  const { kind, caughtUp, rows } = value
  if (!Array.isArray(rows) || typeof caughtUp !== 'boolean') throw notOurs('page')
  const segments = paths.map(partitionKeyPathSegments)
  const changes = rows.map((row: unknown) => {
    if (!Array.isArray(row)) throw notOurs('page')
    return kind === 'versions' ? versionOf<T>(row) : documentOf<T>(row, segments)
  })
  return { changes, ...positionOf(value), caughtUp }
}

function documentOf<T extends DocumentBody>(
  row: readonly unknown[],
  paths: readonly (readonly string[])[],
): Change<T> {
  // Rows are our own gateway's, whose release was seen in the page around them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  const [at, kind, expirySecond, ts, body] = row as unknown as DocumentRow
  const document = storedOf<T>(body)
  const partitionKey = partitionKeyOf(extractPartitionKey(document, paths))
  const known = { id: document.id, partitionKey, lsn: lsn(at), committedAtMs: ts * 1000 }
  if (kind !== DOCUMENT_ROW) {
    const expiredAtMs = expirySecond * 1000
    return { kind: 'pendingDelete', ...known, lastVersion: document, expiredAtMs }
  }
  return expirySecond === 0
    ? { kind: 'document', ...known, document }
    : { kind: 'document', ...known, document, expiresAtMs: expirySecond * 1000 }
}

function versionOf<T extends DocumentBody>(row: readonly unknown[]): VersionChange<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in documentOf
  const [at, operation, commitMs, id, key, current, previous] = row as unknown as VersionRowOnWire
  return {
    kind: 'version',
    id,
    partitionKey: partitionKeyOf(parsePartitionKeyText(key)),
    lsn: lsn(at),
    operationType: operation === 'expire' ? 'delete' : operation,
    crts: commitMs,
    timeToLiveExpired: operation === 'expire',
    ...(current !== null && { current: storedOf<T>(current) }),
    ...(previous !== null && { previous: storedOf<T>(previous) }),
  }
}

/**
 * What a server says is a document. Users say what they keep in a container. `_attachments`, which the wire adds and
 * nothing reads, is left out, so that documents are as in process.
 */
export function storedOf<T extends DocumentBody>(value: unknown): Stored<T> {
  let document = value
  if (isJsonRecord(value) && Object.hasOwn(value, '_attachments')) {
    const { _attachments, ...rest } = value
    void _attachments
    document = rest
  }
  // The one place of the client where JSON becomes a typed document.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return document as Stored<T>
}
