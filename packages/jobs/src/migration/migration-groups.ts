import type { DocumentBody, LeaseStore } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { WatchedGroup } from '../workers/range-lag.ts'
import { deletesGroup, type ExpiryOption } from './migration-options.ts'

/** The lease groups of a migration. */
export interface MigrationGroups {
  /** Reads the documents. */
  readonly copy: WatchedGroup
  /** Reads the log of all versions, when deletes are applied. */
  readonly deletes: WatchedGroup | undefined
}

/** Opens them to look at them. */
export async function openMigrationGroups<S extends DocumentBody>(
  leases: LeaseStore,
  name: string,
  reads: {
    readonly source: Collection<S>
    readonly expiry: ExpiryOption
    readonly deletes: 'apply' | 'ignore'
  },
): Promise<MigrationGroups> {
  const { definition } = await reads.source.readRecord()
  const pendingDeletes = reads.expiry === 'carry' && definition.defaultTtl !== null
  const copy = await leases.openGroup(name)
  const log = reads.deletes === 'apply' ? await leases.openGroup(deletesGroup(name)) : undefined
  return {
    copy: { leases: copy, pendingDeletes, mode: 'latestVersion' },
    deletes: log && { leases: log, pendingDeletes: false, mode: 'allVersions' },
  }
}
