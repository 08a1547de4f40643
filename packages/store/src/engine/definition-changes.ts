import { InvalidOptionError, PreconditionFailedError } from '@tidemark/contracts'
import type { CollectionDefinition, CollectionRecord, DatabaseRecord, TtlEra } from './catalog.ts'
import { changedRecordEtag } from './resource-ids.ts'

/** What can change of a collection after it was created. Absent = unchanged. */
export type DefinitionChanges = {
  readonly [Name in Exclude<keyof CollectionDefinition, 'partitionKey' | 'uniqueKeys'>]?:
    | CollectionDefinition[Name]
    | undefined
}

/**
 * The record after a change, judged inside the engine's transaction. A past value of `defaultTtl` is kept until the
 * sweep has turned all documents that expired under it into pending deletes (TTL-18).
 *
 * @throws ERR_INVALID_OPTION when time to live and indexing exclude each other (TTL-10)
 */
export function changedRecord(
  record: CollectionRecord,
  changes: DefinitionChanges,
  nowMs: number,
): CollectionRecord {
  const before = record.definition
  const definition: CollectionDefinition = {
    partitionKey: before.partitionKey,
    defaultTtl: changes.defaultTtl === undefined ? before.defaultTtl : changes.defaultTtl,
    indexingMode: changes.indexingMode ?? before.indexingMode,
    pendingDeletes: changes.pendingDeletes ?? before.pendingDeletes,
    allVersions: changes.allVersions === undefined ? before.allVersions : changes.allVersions,
    splitAboveBytes:
      changes.splitAboveBytes === undefined ? before.splitAboveBytes : changes.splitAboveBytes,
    annotation: changes.annotation ?? before.annotation,
    uniqueKeys: before.uniqueKeys,
  }
  assertIndexed(definition)
  const ts = Math.floor(nowMs / 1000)
  const ttlEras = erasAfter(record, definition.defaultTtl, nowMs)
  const etag = changedRecordEtag(record.rid, record.etag, ts)
  return { ...record, definition, ttlEras, etag, ts }
}

/**
 * A database's record with a new annotation, judged inside the engine's transaction.
 *
 * @throws ERR_PRECONDITION_FAILED when it must have another etag
 */
export function annotatedDatabase(
  record: DatabaseRecord,
  annotation: string,
  { nowMs, ifMatch }: { readonly nowMs: number; readonly ifMatch: string | undefined },
): DatabaseRecord {
  if (ifMatch !== undefined && ifMatch !== record.etag) {
    throw new PreconditionFailedError(record.id, `its etag is ${record.etag}`)
  }
  const ts = Math.floor(nowMs / 1000)
  return { ...record, annotation, etag: changedRecordEtag(record.rid, record.etag, ts), ts }
}

/** @throws ERR_INVALID_OPTION */
export function assertIndexed({
  defaultTtl,
  indexingMode,
}: Pick<CollectionDefinition, 'defaultTtl' | 'indexingMode'>): void {
  if (defaultTtl !== null && indexingMode === 'none') {
    throw new InvalidOptionError('defaultTtl needs an indexingMode of "consistent" or "lazy"')
  }
}

function erasAfter(
  { definition: { defaultTtl }, ttlEras }: CollectionRecord,
  next: number | null,
  nowMs: number,
): readonly TtlEra[] {
  if (next === defaultTtl) return ttlEras
  return [...ttlEras, { defaultTtl, untilMs: nowMs }]
}
