import type { Clock, DocumentBody, LeaseStore } from '@tidemark/contracts'
import { ChangeFeedEstimator } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { deletesGroup, type ExpiryOption } from './migration-options.ts'

/** The lease groups of a migration, as they are watched. */
export interface MigrationGroups<S extends DocumentBody> {
  /** Reads the documents. */
  readonly copy: ChangeFeedEstimator<S>
  /** Reads the log of all versions, when deletes are applied. */
  readonly deletes: ChangeFeedEstimator<S> | undefined
}

/** Opens them to look at them. */
export async function openMigrationGroups<S extends DocumentBody>(
  leases: LeaseStore,
  name: string,
  reads: {
    readonly source: Collection<S>
    readonly expiry: ExpiryOption
    readonly deletes: 'apply' | 'ignore'
    readonly clock: Clock
  },
): Promise<MigrationGroups<S>> {
  const { definition } = await reads.source.readRecord()
  const pendingDeletes = reads.expiry === 'carry' && definition.defaultTtl !== null
  const watched = { feed: reads.source, leases, clock: reads.clock }
  return {
    copy: new ChangeFeedEstimator({ ...watched, group: name, pendingDeletes }),
    deletes:
      reads.deletes === 'apply'
        ? new ChangeFeedEstimator({ ...watched, group: deletesGroup(name), mode: 'allVersions' })
        : undefined,
  }
}
