import type { LeaseGroupChanges } from '../lease-group-state.ts'
import { planDocument } from './lease-documents.ts'
import type { LeasePartition, PartitionView } from './lease-partition.ts'

/**
 * Writes a replacement of leases as one batch: the group's document, the plan, and every lease that goes,
 * changes or comes. It fails as a lost race if any of them is not what was read.
 *
 * Returns the etags of the leases written, in their order.
 */
export async function replaceLeaseDocuments(
  partition: LeasePartition,
  view: PartitionView & { readonly set: string },
  changes: LeaseGroupChanges,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const { set, etags, head, state } = view
  const records = [...(changes.leases?.values() ?? [])]
  const stay = new Set(records.map(({ id }) => id))
  const gone = (changes.removeLeases ?? []).filter((leaseId) => !stay.has(leaseId))
  const plan = planDocument(partition.group, set, changes.targets ?? state.targets)
  const written = await partition.commit(
    [
      ...records.map((record) => {
        const etag = etags.get(record.id)
        return etag === undefined
          ? partition.createLease(set, record)
          : partition.replaceLease(set, record, etag)
      }),
      ...gone.map((leaseId) => partition.deleteLease(set, leaseId, etags.get(leaseId))),
      partition.replaceGroup(view, { head: changes.head ?? head }),
      { kind: 'upsert', document: plan },
    ],
    signal,
  )
  return written.slice(0, records.length)
}
