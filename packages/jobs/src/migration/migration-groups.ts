import type { ReadingGroup } from '../workers/job-groups.ts'
import { deletesGroup } from './migration-options.ts'

/** What a migration reads beside the latest versions. */
interface MigrationReads {
  readonly pendingDeletes: boolean
  readonly followsLog: boolean
}

/** Whether the source is asked for copies that may be gone: of one that is missing nobody knows whether it was deleted or expired. */
export function reconciles(
  deletes: 'apply' | 'ignore' | undefined,
  { pendingDeletes, followsLog }: MigrationReads,
): boolean {
  return deletes !== 'ignore' && (pendingDeletes || followsLog)
}

/** The lease groups of a migration. */
export function migrationGroups(name: string, reads: MigrationReads): readonly ReadingGroup[] {
  const { pendingDeletes } = reads
  const documents = { role: 'documents', group: name, feedOptions: { pendingDeletes } } as const
  if (!reads.followsLog) return [documents]
  const feedOptions = { mode: 'allVersions' } as const
  return [documents, { role: 'deletes', group: deletesGroup(name), feedOptions }]
}
