import { PreconditionFailedError, ResourceNotFoundError, errorCode } from '@tidemark/contracts'
import { checkOptions } from '@tidemark/contracts/internal'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { DefinitionChanges } from '../engine/definition-changes.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { WriteConflictError } from '../errors/write-conflict-error.ts'
import {
  checkedAllVersions,
  settingsRules,
  checkedAnnotation,
  checkedDefaultTtl,
  checkedIndexingMode,
  checkedPendingDeletes,
  checkedSplitAboveBytes,
  checkedWaitingGroup,
  checkedWaitingGroups,
  type CollectionSettings,
} from './collection-settings.ts'

/** A collection as its handle found it: number, `_rid` and partition key never change, everything else can. */
export interface FoundRecord {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
}

/** Each lost race means that another caller changed the collection. */
const MAX_ATTEMPTS = 100

/** The collection's present record. Rejects with ERR_NOT_FOUND, also when another collection has its name. */
export async function readPresentRecord({
  engine,
  record,
}: FoundRecord): Promise<CollectionRecord> {
  const present = await engine.readCollection(record.id)
  if (present?.rid === record.rid) return present
  throw new ResourceNotFoundError('collection', record.id)
}

/**
 * Changes the settings that are given, and of `pendingDeletes` the properties that are given. With `ifMatch`, only
 * while the record has that etag.
 *
 * @throws ERR_INVALID_OPTION, ERR_NOT_FOUND, ERR_WRITE_CONFLICT, ERR_PRECONDITION_FAILED
 */
export async function changeSettings(
  found: FoundRecord,
  settings: CollectionSettings,
  { ifMatch }: { readonly ifMatch?: string | undefined } = {},
): Promise<CollectionRecord> {
  checkOptions(settings, settingsRules)
  const { defaultTtl, indexingMode, allVersions, splitAboveBytes, annotation } = settings
  const pendingDeletes = checkedPendingDeletes(settings.pendingDeletes)
  const changes: DefinitionChanges = {
    defaultTtl: defaultTtl === undefined ? undefined : checkedDefaultTtl(defaultTtl),
    indexingMode: indexingMode === undefined ? undefined : checkedIndexingMode(indexingMode),
    allVersions: allVersions === undefined ? undefined : checkedAllVersions(allVersions),
    splitAboveBytes:
      splitAboveBytes === undefined ? undefined : checkedSplitAboveBytes(splitAboveBytes),
    annotation: annotation === undefined ? undefined : checkedAnnotation(annotation),
  }
  if (pendingDeletes === undefined) {
    return found.engine.updateCollection(found.record, changes, { ifMatch })
  }
  return changeFromPresent(found, ({ definition, id, etag }) => {
    if (ifMatch !== undefined && ifMatch !== etag) {
      throw new PreconditionFailedError(id, `its etag is ${etag}`)
    }
    return {
      ...changes,
      pendingDeletes: { ...definition.pendingDeletes, ...pendingDeletes },
    }
  })
}

/** From now on, a pending delete is purged only after this group has passed it. */
export function addWaitingGroup(found: FoundRecord, group: string): Promise<CollectionRecord> {
  const name = checkedWaitingGroup(group)
  return changeWaitingGroups(found, (groups) =>
    groups.includes(name) ? groups : [...groups, name],
  )
}

/** Purges no longer wait for this group. */
export function removeWaitingGroup(found: FoundRecord, group: string): Promise<CollectionRecord> {
  const name = checkedWaitingGroup(group)
  return changeWaitingGroups(found, (groups) =>
    groups.includes(name) ? groups.filter((other) => other !== name) : groups,
  )
}

function changeWaitingGroups(
  found: FoundRecord,
  change: (groups: readonly string[]) => readonly string[],
): Promise<CollectionRecord> {
  return changeFromPresent(found, ({ definition: { pendingDeletes } }) => {
    const waitFor = change(pendingDeletes.waitFor)
    if (waitFor === pendingDeletes.waitFor) return undefined
    return { pendingDeletes: { ...pendingDeletes, waitFor: checkedWaitingGroups(waitFor) } }
  })
}

/** Reads the record, computes the change and writes it if the record has not changed meanwhile. */
async function changeFromPresent(
  found: FoundRecord,
  changesOf: (present: CollectionRecord) => DefinitionChanges | undefined,
): Promise<CollectionRecord> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const present = await readPresentRecord(found)
    const changes = changesOf(present)
    if (changes === undefined) return present
    try {
      return await found.engine.updateCollection(present, changes, { ifMatch: present.etag })
    } catch (error) {
      if (errorCode(error) !== 'ERR_PRECONDITION_FAILED') throw error
    }
  }
  throw new WriteConflictError(found.record.id, MAX_ATTEMPTS)
}
