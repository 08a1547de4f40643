import type { ReadingGroup } from '../workers/job-groups.ts'
import { deletesGroup } from './migration-options.ts'

/** The lease groups of a migration. */
export function migrationGroups(
  name: string,
  reads: { readonly pendingDeletes: boolean; readonly followsLog: boolean },
): readonly ReadingGroup[] {
  const { pendingDeletes } = reads
  const documents = { role: 'documents', group: name, feedOptions: { pendingDeletes } } as const
  if (!reads.followsLog) return [documents]
  const feedOptions = { mode: 'allVersions' } as const
  return [documents, { role: 'deletes', group: deletesGroup(name), feedOptions }]
}
