import {
  checkedNewLeases,
  PreconditionFailedError,
  type DocumentCollection,
  type Lease,
  type NewLease,
} from '@tidemark/contracts'
import { leaseViews, type GroupHead, type LeaseRecord } from '../lease-group-state.ts'
import { newLeaseRecord, withoutPlan } from '../lease-set-model.ts'
import { GROUP_ID, leaseDocumentId, REGISTRY_PARTITION } from './lease-documents.ts'
import {
  chunks,
  type GroupView,
  type LeasePartition,
  type PartitionView,
} from './lease-partition.ts'

/** Of a batch, beside the group's document. */
const SMALL_SET = 99
/** For how long a host that writes a big set is waited for. */
const CLAIM_MS = 3_000
const CLAIM_POLL_MS = 20

/**
 * Stores a set of leases of any size so that readers see all of it or nothing. Whoever finds a set
 * named adopts it.
 *
 * A small set is one batch with the group's document. Of a big one the documents are written first,
 * under a new set id that nobody looks for, and the group's document names the set last. A crash on
 * the way leaves documents of a set that was never named; the next `create` or `discard` that meets
 * them deletes them.
 */
export function createLeaseSet(
  partition: LeasePartition,
  leases: readonly NewLease[],
  signal?: AbortSignal,
): Promise<readonly Lease[]> {
  return partition.retryLostRaces(async () => {
    const checked = checkedNewLeases(leases)
    let view = await partition.readAll(signal)
    if (view.discarding || isClaimed(view, partition)) {
      await waitForCreator(partition, view, signal)
      await finishDiscard(partition, signal)
      view = await partition.readAll(signal)
    }
    // A set of which somebody deleted every document is none.
    if (view.state.leases.size > 0) {
      // Whoever wrote a stray cannot name it any more: `setVersion` has moved on.
      await partition.deleteLeases(documentIds(view), signal)
      return leaseViews(view.state)
    }
    if (checked.length === 0) return []
    await register(partition.collection, partition.group, signal)
    return checked.length <= SMALL_SET
      ? createSmallSet(partition, view, checked, signal)
      : createBigSet(partition, view, checked, signal)
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

async function createSmallSet(
  partition: LeasePartition,
  view: PartitionView,
  leases: readonly NewLease[],
  signal?: AbortSignal,
): Promise<readonly Lease[]> {
  const set = partition.newSet()
  const records = leases.map((lease) => newLeaseRecord(lease, view.storeTimeUs))
  const { head } = withoutPlan(view.head)
  const setVersion = view.setVersion + 1
  await partition.commit(
    [
      partition.replaceGroup(view, { head, set, setVersion, creating: undefined }),
      ...records.map((record) => partition.createLease(set, record)),
    ],
    signal,
  )
  return viewsOf(head, records)
}

/** Rejects as a lost race when another host was first. */
async function createBigSet(
  partition: LeasePartition,
  before: PartitionView,
  leases: readonly NewLease[],
  signal?: AbortSignal,
): Promise<readonly Lease[]> {
  const set = partition.newSet()
  const records = leases.map((lease) => newLeaseRecord(lease, before.storeTimeUs))
  const sinceMs = Math.floor(before.storeTimeUs / 1000)
  const creating = { by: partition.handle, sinceMs }
  await partition.commit([partition.replaceGroup(before, { head: before.head, creating })], signal)
  for (const chunk of chunks(records, 0)) {
    await partition.commit(
      chunk.map((record) => partition.createLease(set, record)),
      signal,
    )
  }
  const head = await partition.retryLostRaces(async () => {
    const view = await partition.readGroup(signal)
    // A set was named, or given up, meanwhile; heartbeats do not matter.
    if (view.setVersion !== before.setVersion || view.discarding) return undefined
    const planless = withoutPlan(view.head).head
    const setVersion = view.setVersion + 1
    const named = { head: planless, set, setVersion, creating: undefined }
    await partition.commit([partition.replaceGroup(view, named)], signal)
    return planless
  }, signal)
  if (head !== undefined) return viewsOf(head, records)
  const own = records.map(({ id }) => leaseDocumentId(set, id))
  await partition.deleteLeases(own, signal)
  throw new PreconditionFailedError(GROUP_ID, 'another host changed the set of leases')
}

/** Returns when no other handle says that it is creating, or it has said so for too long. */
async function waitForCreator(
  partition: LeasePartition,
  view: GroupView,
  signal?: AbortSignal,
): Promise<void> {
  const never = new AbortController().signal
  let present = view
  for (let polls = 0; polls < CLAIM_MS / CLAIM_POLL_MS; polls += 1) {
    if (!isClaimed(present, partition)) return
    await partition.clock.sleep(CLAIM_POLL_MS, signal ?? never)
    present = await partition.readGroup(signal)
  }
}

function isClaimed({ creating, set, storeTimeUs }: GroupView, { handle }: LeasePartition): boolean {
  if (creating === undefined || set !== undefined || creating.by === handle) return false
  return Math.abs(storeTimeUs / 1000 - creating.sinceMs) < CLAIM_MS
}

function viewsOf(head: GroupHead, records: readonly LeaseRecord[]): readonly Lease[] {
  const leases = new Map(records.map((record) => [record.id, record]))
  return leaseViews({ head, leases, wasGivenLeases: true, targets: new Map() })
}

function documentIds({ strays }: PartitionView): readonly string[] {
  return strays.map(({ documentId }) => documentId)
}
