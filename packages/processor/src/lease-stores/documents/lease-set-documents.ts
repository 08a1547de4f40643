import {
  checkedNewLeases,
  PreconditionFailedError,
  type DocumentCollection,
  type Lease,
  type NewLease,
} from '@tidemark/contracts'
import { leaseViews } from '../lease-group-state.ts'
import { newLeaseRecord, withoutPlan } from '../lease-set-model.ts'
import { GROUP_ID, leaseDocumentId, REGISTRY_PARTITION } from './lease-documents.ts'
import type { LeasePartition, PartitionView } from './lease-partition.ts'

/**
 * Stores a set of leases of any size so that readers see all of it or nothing: the documents are
 * written first, under a new set id that nobody looks for, and the group's document names the set
 * last. Whoever finds a set named meanwhile takes back its own and adopts that one.
 *
 * A crash on the way leaves documents of a set that was never named; the next `create` or `discard`
 * that meets them deletes them.
 */
export function createLeaseSet(
  partition: LeasePartition,
  leases: readonly NewLease[],
  signal?: AbortSignal,
): Promise<readonly Lease[]> {
  return partition.retryLostRaces(async () => {
    const checked = checkedNewLeases(leases)
    let view = await partition.readAll(signal)
    if (view.discarding) {
      await finishDiscard(partition, signal)
      view = await partition.readAll(signal)
    }
    if (view.set !== undefined) {
      // Whoever wrote a stray cannot name it any more: `setVersion` has moved on.
      await partition.deleteLeases(documentIds(view), signal)
      return leaseViews(view.state)
    }
    if (checked.length === 0) return []
    return nameNewSet(partition, view, checked, signal)
  }, signal)
}

/**
 * The second half of a discard. The group's document says `discarding` until no lease of the set that
 * was given up can be acquired any more and their highest epoch is kept; then they are deleted.
 */
export async function finishDiscard(
  partition: LeasePartition,
  signal?: AbortSignal,
): Promise<void> {
  const strays = await partition.retryLostRaces(async () => {
    const view = await partition.readAll(signal)
    if (!view.discarding) return []
    const epochFloor = Math.max(view.head.epochFloor, ...view.strays.map(({ epoch }) => epoch))
    const head = { ...view.head, epochFloor }
    await partition.commit([partition.replaceGroup(view, { head, discarding: false })], signal)
    return documentIds(view)
  }, signal)
  await partition.retryLostRaces(() => partition.deleteLeases(strays, signal), signal)
}

/** Lists the group, so that `listGroups` finds it. May be repeated. */
async function register(
  collection: DocumentCollection,
  group: string,
  signal?: AbortSignal,
): Promise<void> {
  const entry = {
    id: encodeURIComponent(group),
    partitionKey: REGISTRY_PARTITION,
    kind: 'registry',
    group,
    ttl: -1,
  }
  await collection.upsert(entry, { signal })
}

/** Rejects as a lost race when another host was first. */
async function nameNewSet(
  partition: LeasePartition,
  before: PartitionView,
  leases: readonly NewLease[],
  signal?: AbortSignal,
): Promise<readonly Lease[]> {
  const set = partition.random.hex(4)
  const records = leases.map((lease) => newLeaseRecord(lease, before.storeTimeUs))
  await register(partition.collection, partition.group, signal)
  await partition.createLeases(set, records, signal)
  const named = await partition.retryLostRaces(async () => {
    const view = await partition.readGroup(signal)
    // A set was named, or given up, meanwhile; heartbeats do not matter.
    if (view.setVersion !== before.setVersion || view.discarding) return undefined
    const { head } = withoutPlan(view.head)
    const setVersion = view.setVersion + 1
    await partition.commit([partition.replaceGroup(view, { head, set, setVersion })], signal)
    return leaseViews({
      head,
      leases: new Map(records.map((record) => [record.id, record])),
      targets: new Map(),
    })
  }, signal)
  if (named !== undefined) return named
  const own = records.map(({ id }) => leaseDocumentId(set, id))
  await partition.deleteLeases(own, signal)
  throw new PreconditionFailedError(GROUP_ID, 'another host changed the set of leases')
}

function documentIds({ strays }: PartitionView): readonly string[] {
  return strays.map(({ documentId }) => documentId)
}
