import type {
  AcquiredLease,
  BatchOperation,
  CheckpointOutcome,
  ClaimFeedOptions,
  GroupFeed,
  HostNote,
  HostSummary,
  Lease,
  LeaseGroup,
  LeaseGroupSnapshot,
  LeaseHint,
  LeaseLoss,
  LeaseTransition,
  NewLease,
  PlanRequest,
  ReconcileReply,
  SyncReply,
  SyncRequest,
} from '@tidemark/contracts'
import { readGroup, type LeaseGroupStep, type LeaseRecord } from '../lease-group-state.ts'
import { claimGroupFeed, declareLeasesLost, discardLeases } from '../lease-set-model.ts'
import { planGroup, setGroupPaused, syncGroup } from '../membership-model.ts'
import {
  acquireLeases,
  checkpointLeases,
  reconcileLeases,
  releaseLeases,
} from '../ownership-model.ts'
import { overrideLeases, replaceLeases } from '../replace-model.ts'
import type { DocumentHints } from './document-hints.ts'
import { planDocument, releasedDocument } from './lease-documents.ts'
import { NoteDocuments } from './note-documents.ts'
import { replaceLeaseDocuments } from './replace-lease-documents.ts'
import { chunks, type LeasePartition, type PartitionView } from './lease-partition.ts'
import { createLeaseSet, finishDiscard } from './lease-set-documents.ts'
import { UnflushedLeases, type SeenLease } from './unflushed-leases.ts'

/**
 * A lease group on documents: each operation reads a snapshot, asks the pure model, and writes what
 * changed in transactional batches whose conditions fail if anything that was read has changed.
 */
export class DocumentLeaseGroup implements LeaseGroup {
  readonly group: string
  readonly #partition: LeasePartition
  readonly #hints: DocumentHints
  readonly #seen = new Map<string, SeenLease>()
  readonly #unflushed: UnflushedLeases
  readonly #notes: NoteDocuments

  constructor(partition: LeasePartition, hints: DocumentHints) {
    this.group = partition.group
    this.#partition = partition
    this.#hints = hints
    this.#unflushed = new UnflushedLeases(partition)
    this.#notes = new NoteDocuments(partition)
  }

  sync(asked: SyncRequest, signal?: AbortSignal): Promise<SyncReply> {
    const partition = this.#partition
    const request = { ...asked, storeErrorMs: partition.collection.serverTimeErrorMs }
    return partition.retryLostRaces(async () => {
      let step: LeaseGroupStep<SyncReply>
      let view
      if (request.held === undefined) {
        view = await partition.readGroup(signal)
        step = syncGroup({ head: view.head, leases: new Map() }, request, view.storeTimeUs)
      } else {
        const all = await partition.readAll(signal)
        view = all
        step = syncGroup(all.state, request, all.storeTimeUs)
      }
      const head = step.changes.head ?? view.head
      await partition.commit([partition.replaceGroup(view, { head })], signal)
      return step.reply
    }, signal)
  }

  async create(leases: readonly NewLease[], signal?: AbortSignal): Promise<readonly Lease[]> {
    await this.#partition.pkRangeIds.learn(signal)
    return createLeaseSet(this.#partition, leases, signal)
  }

  read(signal?: AbortSignal): Promise<LeaseGroupSnapshot> {
    return this.#partition.retryLostRaces(async () => {
      const view = await this.#partition.readAll(signal)
      this.#remember(view)
      return readGroup(view.state)
    }, signal)
  }

  claimFeed(feed: GroupFeed, { insteadOf, signal }: ClaimFeedOptions = {}): Promise<GroupFeed> {
    const partition = this.#partition
    return partition.retryLostRaces(async () => {
      const view = await partition.readGroup(signal)
      const { changes, reply } = claimGroupFeed(view.head, feed, insteadOf)
      if (changes.head !== undefined) {
        await partition.commit([partition.replaceGroup(view, { head: changes.head })], signal)
      }
      return reply
    }, signal)
  }

  plan(request: PlanRequest, signal?: AbortSignal): Promise<boolean> {
    const partition = this.#partition
    return partition.retryLostRaces(async () => {
      const view = await partition.readAll(signal)
      const { changes, reply } = planGroup(view.state, request)
      if (changes.head === undefined || changes.targets === undefined) return reply
      const plan = planDocument(this.group, view.set ?? '', changes.targets)
      await partition.commit(
        [partition.replaceGroup(view, { head: changes.head }), { kind: 'upsert', document: plan }],
        signal,
      )
      return reply
    }, signal)
  }

  async acquire(
    request: Parameters<LeaseGroup['acquire']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[]> {
    const partition = this.#partition
    await partition.pkRangeIds.learn(signal)
    return partition.retryLostRaces(async () => {
      const view = await partition.readAll(signal)
      const { changes, reply } = acquireLeases(view.state, request, view.storeTimeUs)
      const { set } = view
      if (set === undefined) return reply
      this.#remember(view)
      // Each lease is granted or not on its own; the check makes every chunk depend on the sessions
      // and the plan that were read.
      for (const records of chunks([...(changes.leases?.values() ?? [])], 1)) {
        const etags = await partition.commit(
          [
            partition.checkGroup(view),
            ...records.map((record) =>
              partition.replaceLease(set, record, view.etags.get(record.id)),
            ),
          ],
          signal,
        )
        this.#rememberWritten(set, records, etags.slice(1))
      }
      return reply
    }, signal)
  }

  async checkpoint(
    request: Parameters<LeaseGroup['checkpoint']>[0],
    signal?: AbortSignal,
  ): Promise<readonly CheckpointOutcome[]> {
    const outcomes: CheckpointOutcome[] = []
    for (const checkpoints of chunks(request.checkpoints, 0)) {
      const reply = await this.#writeOwned(
        checkpoints.map(({ leaseId }) => leaseId),
        (leases, storeTimeUs) => checkpointLeases(leases, { ...request, checkpoints }, storeTimeUs),
        { success: 'stored', announce: false, sync: haveTries },
        signal,
      )
      outcomes.push(...reply)
    }
    return outcomes
  }

  flush(signal?: AbortSignal): Promise<void> {
    return this.#unflushed.flush(signal)
  }

  async release(
    request: Parameters<LeaseGroup['release']>[0],
    signal?: AbortSignal,
  ): Promise<readonly ('released' | 'lost')[]> {
    const outcomes: ('released' | 'lost')[] = []
    for (const releases of chunks(request.releases, 1)) {
      const reply = await this.#writeOwned(
        releases.map(({ leaseId }) => leaseId),
        (leases, storeTimeUs) => releaseLeases(leases, { ...request, releases }, storeTimeUs),
        { success: 'released', announce: true, sync: () => true },
        signal,
      )
      outcomes.push(...reply)
    }
    return outcomes
  }

  async replace(
    request: Parameters<LeaseGroup['replace']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[] | 'lost'> {
    const partition = this.#partition
    await partition.pkRangeIds.learn(signal)
    return partition.retryLostRaces(async () => {
      const view = await partition.readAll(signal)
      this.#remember(view)
      const step = replaceLeases(view.state, request, view.storeTimeUs)
      return this.#writeReplacement(view, step, signal)
    }, signal)
  }

  async override(
    request: Parameters<LeaseGroup['override']>[0],
    signal?: AbortSignal,
  ): Promise<readonly Lease[] | 'changed'> {
    const partition = this.#partition
    await partition.pkRangeIds.learn(signal)
    return partition.retryLostRaces(async () => {
      const view = await partition.readAll(signal)
      this.#remember(view)
      const step = overrideLeases(view.state, request, view.storeTimeUs)
      return this.#writeReplacement(view, step, signal)
    }, signal)
  }

  setPaused(paused: boolean, signal?: AbortSignal): Promise<boolean> {
    const partition = this.#partition
    return partition.retryLostRaces(async () => {
      const view = await partition.readGroup(signal)
      const { changes, reply } = setGroupPaused(view, paused)
      if (changes.head !== undefined) {
        await partition.commit([partition.replaceGroup(view, { head: changes.head })], signal)
      }
      return reply
    }, signal)
  }

  reconcile(
    request: Parameters<LeaseGroup['reconcile']>[0],
    signal?: AbortSignal,
  ): Promise<ReconcileReply> {
    return this.#partition.retryLostRaces(async () => {
      const view = await this.#partition.readAll(signal)
      this.#remember(view)
      return reconcileLeases(view.state, request)
    }, signal)
  }

  async discard(token: string, signal?: AbortSignal): Promise<boolean> {
    const partition = this.#partition
    const discarded = await partition.retryLostRaces(async () => {
      const view = await partition.readGroup(signal)
      const { changes, reply } = discardLeases({ head: view.head, leases: new Map() }, token)
      if (changes.head !== undefined) {
        const { head } = changes
        const setVersion = view.setVersion + 1
        await partition.commit(
          [partition.replaceGroup(view, { head, set: undefined, setVersion, discarding: true })],
          signal,
        )
      }
      return reply
    }, signal)
    // Also when another host discarded: it may have died half-way.
    await finishDiscard(partition, signal)
    return discarded
  }

  async declareLost(request: LeaseLoss, signal?: AbortSignal): Promise<boolean> {
    const partition = this.#partition
    const unreadable = await partition.retryLostRaces(async () => {
      const view = await partition.readAll(signal)
      const { head } = declareLeasesLost(view.state, request).changes
      if (head === undefined) return undefined
      const setVersion = view.setVersion + 1
      await partition.commit(
        [partition.replaceGroup(view, { head, set: undefined, setVersion, discarding: true })],
        signal,
      )
      return view.unreadable
    }, signal)
    await finishDiscard(partition, signal)
    if (unreadable === undefined) return false
    await partition.retryLostRaces(() => partition.deleteLeases(unreadable, signal), signal)
    return true
  }

  note(note: HostNote, signal?: AbortSignal): Promise<void> {
    return this.#notes.note(note, signal)
  }

  readSummaries(signal?: AbortSignal): Promise<readonly HostSummary[]> {
    return this.#notes.readSummaries(signal)
  }

  readTransitions(signal?: AbortSignal): Promise<readonly LeaseTransition[]> {
    return this.#notes.readTransitions(signal)
  }

  subscribe(listener: (hint: LeaseHint) => void): () => void {
    return this.#hints.subscribe(listener)
  }

  async close(): Promise<void> {
    await this.#hints.close()
    this.#seen.clear()
    this.#unflushed.clear()
  }

  /**
   * Writes leases that the caller owns. The first attempt trusts what was seen last, which costs no
   * read; an outcome other than success is only ever given after a fresh read.
   */
  #writeOwned<Outcome>(
    leaseIds: readonly string[],
    decide: (
      leases: ReadonlyMap<string, LeaseRecord>,
      storeTimeUs: number,
    ) => LeaseGroupStep<readonly Outcome[]>,
    {
      success,
      announce,
      sync,
    }: {
      readonly success: NoInfer<Outcome>
      readonly announce: boolean
      /** Whether the lease records, as they were or as they become, must be on disk at once. */
      readonly sync: (records: readonly LeaseRecord[]) => boolean
    },
    signal?: AbortSignal,
  ): Promise<readonly Outcome[]> {
    const partition = this.#partition
    let fresh = false
    return partition.retryLostRaces(async () => {
      if (fresh) this.#remember(await partition.readAll(signal))
      let step = this.#decideOnSeen(leaseIds, decide)
      if (!fresh && step.reply.some((outcome) => outcome !== success)) {
        this.#remember(await partition.readAll(signal))
        step = this.#decideOnSeen(leaseIds, decide)
      }
      fresh = true
      const records = [...(step.changes.leases?.values() ?? [])]
      if (records.length === 0) return step.reply
      const seen = records.map(({ id }) => this.#seen.get(id))
      const before = seen.flatMap((one) => (one === undefined ? [] : [one.record]))
      const synced = sync([...before, ...records])
      const etags = await partition.commit(
        [
          ...records.map((record, index) =>
            partition.replaceLease(seen[index]?.set ?? '', record, seen[index]?.etag),
          ),
          ...(announce ? [announcement(partition)] : []),
        ],
        signal,
        synced,
      )
      this.#rememberWritten(seen[0]?.set ?? '', records, etags)
      for (const [index, { id }] of records.entries()) {
        const lease = this.#seen.get(id)
        if (lease !== undefined) this.#unflushed.wrote(lease, { over: seen[index]?.etag, synced })
      }
      return step.reply
    }, signal)
  }

  /** Writes what `replace` or `override` decided on the view, if anything. */
  async #writeReplacement<Reply>(
    view: PartitionView,
    { changes, reply }: LeaseGroupStep<Reply>,
    signal?: AbortSignal,
  ): Promise<Reply> {
    const { set } = view
    if (changes.leases === undefined || set === undefined) return reply
    const etags = await replaceLeaseDocuments(this.#partition, { ...view, set }, changes, signal)
    for (const leaseId of changes.removeLeases ?? []) this.#seen.delete(leaseId)
    this.#rememberWritten(set, [...changes.leases.values()], etags)
    return reply
  }

  #decideOnSeen<Outcome>(
    leaseIds: readonly string[],
    decide: (
      leases: ReadonlyMap<string, LeaseRecord>,
      storeTimeUs: number,
    ) => LeaseGroupStep<readonly Outcome[]>,
  ): LeaseGroupStep<readonly Outcome[]> {
    const leases = new Map<string, LeaseRecord>()
    for (const leaseId of leaseIds) {
      const seen = this.#seen.get(leaseId)
      if (seen !== undefined) leases.set(leaseId, seen.record)
    }
    return decide(leases, this.#partition.estimatedTimeUs())
  }

  #remember({ set, state, etags }: PartitionView): void {
    this.#seen.clear()
    if (set === undefined) return
    for (const [leaseId, record] of state.leases) {
      this.#seen.set(leaseId, { set, record, etag: etags.get(leaseId) ?? '' })
    }
  }

  #rememberWritten(set: string, records: readonly LeaseRecord[], etags: readonly string[]): void {
    for (const [index, record] of records.entries()) {
      this.#seen.set(record.id, { set, record, etag: etags[index] ?? '' })
    }
  }
}

/**
 * A position may be lost with the machine: then changes come again. Tries may not, nor that they are over: the next owner
 * would miss a death, or count one that did not happen.
 */
function haveTries(records: readonly LeaseRecord[]): boolean {
  return records.some(({ checkpoint }) => checkpoint.attempts !== undefined)
}

/** Tells waiting hosts that leases came free. Unconditional, so that it never makes a release wait. */
function announcement({ group, random }: LeasePartition): BatchOperation {
  return { kind: 'upsert', document: releasedDocument(group, random.hex(8)) }
}
