import {
  errorCode,
  InvalidOptionError,
  LeaseStorageError,
  LeaseStoreUnavailableError,
  type BatchOperation,
  type Clock,
  type DocumentCollection,
  type Random,
} from '@tidemark/contracts'
import {
  newGroupHead,
  type GroupHead,
  type LeaseGroupState,
  type LeaseRecord,
} from '../lease-group-state.ts'
import {
  GROUP_ID,
  groupDocument,
  isLeaseDocument,
  leaseDocument,
  leaseDocumentId,
  parseGroupDocument,
  parseLeaseDocument,
  parsePlanDocument,
  PLAN_ID,
  type LeaseDocument,
  type StoredGroup,
} from './lease-documents.ts'
import type { PkRangeIds } from './pk-range-ids.ts'

/** A transactional batch takes at most so many operations (ST-4). */
const BATCH_LIMIT = 100
/** Of a document's id, here and at Azure. */
const MAX_ID_CHARS = 255
/** Of one operation that others keep overtaking. With the back-off below: 5 to 10 s. */
const ATTEMPT_LIMIT = 60
const BACK_OFF_MS = { first: 2, highest: 200 }

/** The group's document as it was read, with the etag that a conditional write needs. */
export interface GroupView extends StoredGroup {
  /** Undefined when there is no document yet. */
  readonly etag: string | undefined
  readonly storeTimeUs: number
}

/** All documents of a group in one snapshot. */
export interface PartitionView extends GroupView {
  readonly state: LeaseGroupState
  /** Of the leases that count, by lease id. */
  readonly etags: ReadonlyMap<string, string>
  /** Lease documents of other sets: given up, or of a set that was never named. */
  readonly strays: readonly { readonly documentId: string; readonly epoch: number }[]
  /** Documents with the ids of leases of the current set that are no leases: somebody overwrote them. */
  readonly unreadable: readonly string[]
}

export interface PartitionContext {
  readonly collection: DocumentCollection
  readonly clock: Clock
  readonly random: Random
  /** What ids of lease documents begin with. */
  readonly leaseIdPrefix: string
  readonly pkRangeIds: PkRangeIds
}

/** Reads and writes the documents of one group. Keeps nothing but the store's time and newest LSN. */
export class LeasePartition {
  readonly group: string
  /** Tells this handle from others of the group. */
  readonly handle: string
  readonly collection: DocumentCollection
  readonly clock: Clock
  readonly random: Random
  readonly pkRangeIds: PkRangeIds
  readonly #leaseIdPrefix: string
  #storeTime: { readonly ms: number; readonly readAtMs: number } | undefined
  #newestLsn = 0

  constructor(
    group: string,
    { collection, clock, random, leaseIdPrefix, pkRangeIds }: PartitionContext,
  ) {
    this.group = group
    this.handle = random.hex(8)
    this.collection = collection
    this.clock = clock
    this.random = random
    this.pkRangeIds = pkRangeIds
    this.#leaseIdPrefix = leaseIdPrefix
  }

  /** Name of a set that there was not before. The ids of its lease documents begin with it. */
  newSet(): string {
    return `${this.#leaseIdPrefix}${this.random.hex(4)}`
  }

  /** The highest LSN seen in this partition's pkrange. */
  get newestLsn(): number {
    return this.#newestLsn
  }

  /** The store's time as last read, moved on by the time since: for timestamps, never for decisions. */
  estimatedTimeUs(): number {
    if (this.#storeTime === undefined) return Math.floor(this.clock.wallMs()) * 1000
    const { ms, readAtMs } = this.#storeTime
    return Math.floor(ms + this.clock.monotonicMs() - readAtMs) * 1000
  }

  async readGroup(signal?: AbortSignal): Promise<GroupView> {
    const { document, serverTimeMs } = await this.collection.read(GROUP_ID, this.group, { signal })
    this.#noteTime(serverTimeMs)
    const storeTimeUs = Math.floor(serverTimeMs) * 1000
    if (document === undefined) return { ...this.#newGroup(), etag: undefined, storeTimeUs }
    this.noteLsn(document._lsn)
    return { ...parseGroupDocument(document), etag: document._etag, storeTimeUs }
  }

  async readAll(signal?: AbortSignal): Promise<PartitionView> {
    const { documents, serverTimeMs } = await this.collection.readPartition(this.group, { signal })
    this.#noteTime(serverTimeMs)
    const storeTimeUs = Math.floor(serverTimeMs) * 1000
    const groupDocumentRead = documents.find(({ id }) => id === GROUP_ID)
    const stored = groupDocumentRead ? parseGroupDocument(groupDocumentRead) : this.#newGroup()
    const plan = documents.find(({ id }) => id === PLAN_ID)
    const leases = new Map<string, LeaseRecord>()
    const etags = new Map<string, string>()
    const strays: { documentId: string; epoch: number }[] = []
    const unreadable: string[] = []
    for (const document of documents) {
      this.noteLsn(document._lsn)
      if (!isLeaseDocument(document)) {
        const isOfSet = stored.set !== undefined && document.id.startsWith(`${stored.set}-`)
        if (isOfSet) unreadable.push(document.id)
        continue
      }
      const { set, leaseId, epoch, id, _etag } = document
      if (set === stored.set) {
        leases.set(leaseId, parseLeaseDocument(document))
        etags.set(leaseId, _etag)
      } else {
        strays.push({ documentId: id, epoch })
      }
    }
    const targets = plan ? parsePlanDocument(plan, stored.set) : new Map<string, string>()
    const etag = groupDocumentRead?._etag
    const wasGivenLeases = stored.set !== undefined
    const state = { head: stored.head, leases, wasGivenLeases, targets }
    return { ...stored, etag, storeTimeUs, state, etags, strays, unreadable }
  }

  /**
   * All or nothing; a lost race rejects so that `retryLostRaces` begins again. `sync` false: it need not be on disk yet.
   */
  async commit(
    operations: readonly BatchOperation[],
    signal?: AbortSignal,
    sync = true,
  ): Promise<string[]> {
    const { documents, lsn, serverTimeMs } = await this.collection.batch(
      this.group,
      operations.map(neverExpiring),
      sync ? { signal } : { signal, sync },
    )
    this.#noteTime(serverTimeMs)
    this.noteLsn(lsn ?? 0)
    return documents.map((document) => document?._etag ?? '')
  }

  /** Resolves when everything that was committed is on disk. Rejects as `retryLostRaces` does. */
  async flush(signal?: AbortSignal): Promise<void> {
    try {
      await this.collection.flush?.({ signal })
    } catch (error) {
      throw leaseStoreError(error, this.collection.id, signal)
    }
  }

  /** Of these lease documents the records that are stored, by lease id; in place of them, when one is gone, all of the group. */
  readLeases(
    documentIds: readonly string[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, LeaseRecord>> {
    return this.retryLostRaces(async () => {
      try {
        const operations = documentIds.map((id) => ({ kind: 'read' as const, id }))
        const { documents } = await this.collection.batch(this.group, operations, { signal })
        const records = documents.flatMap((document) =>
          document !== undefined && isLeaseDocument(document) ? [parseLeaseDocument(document)] : [],
        )
        return new Map(records.map((record) => [record.id, record]))
      } catch (error) {
        if (!isLostRace(error)) throw error
        return (await this.readAll(signal)).state.leases
      }
    }, signal)
  }

  noteLsn(lsn: number): void {
    this.#newestLsn = Math.max(this.#newestLsn, lsn)
  }

  /** Writes the group's document iff it is still the one that was read. */
  replaceGroup(
    view: GroupView,
    changes: Partial<StoredGroup> & { head: GroupHead },
  ): BatchOperation {
    const document = groupDocument(this.group, { ...view, ...changes })
    return view.etag === undefined
      ? { kind: 'create', document }
      : { kind: 'replace', document, ifMatch: view.etag }
  }

  /** Fails the batch unless the group's document is still the one that was read. */
  checkGroup({ etag }: GroupView): BatchOperation {
    return { kind: 'read', id: GROUP_ID, ifMatch: etag }
  }

  replaceLease(set: string, record: LeaseRecord, etag: string | undefined): BatchOperation {
    return { kind: 'replace', document: this.#leaseDocument(set, record), ifMatch: etag }
  }

  /** @throws ERR_INVALID_OPTION when the prefix of ids leaves no room for the lease's */
  createLease(set: string, record: LeaseRecord): BatchOperation {
    const { length } = leaseDocumentId(set, record.id)
    if (length > MAX_ID_CHARS) {
      throw new InvalidOptionError(
        `the lease of range ${record.id} would have an id of ${length} characters, ${MAX_ID_CHARS} are allowed: ` +
          `leaseIdPrefix is too long by ${length - MAX_ID_CHARS}`,
      )
    }
    return { kind: 'create', document: this.#leaseDocument(set, record) }
  }

  /** Deletes a lease iff its document is still the one that was read. */
  deleteLease(set: string, leaseId: string, etag: string | undefined): BatchOperation {
    return { kind: 'delete', id: leaseDocumentId(set, leaseId), ifMatch: etag }
  }

  /** Deletes lease documents that do not count; another host may do the same at the same time. */
  async deleteLeases(documentIds: readonly string[], signal?: AbortSignal): Promise<void> {
    for (const chunk of chunks(documentIds, 0)) {
      try {
        await this.commit(
          chunk.map((id) => ({ kind: 'delete', id })),
          signal,
        )
      } catch (error) {
        if (!isLostRace(error)) throw error
        for (const id of chunk) await this.#deleteIfThere(id, signal)
      }
    }
  }

  /**
   * Runs `attempt` until it does not lose a race, with jittered back-off.
   *
   * Rejects with ERR_LEASE_STORE_UNAVAILABLE after ATTEMPT_LIMIT attempts, and for transport errors;
   * with ERR_LEASE_STORAGE when the collection is gone or cannot hold leases.
   */
  async retryLostRaces<T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const never = new AbortController().signal
    let waitMs = BACK_OFF_MS.first
    for (let attempts = 1; ; attempts += 1) {
      signal?.throwIfAborted()
      try {
        return await attempt()
      } catch (error) {
        if (!isLostRace(error)) throw leaseStoreError(error, this.collection.id, signal)
        if (attempts >= ATTEMPT_LIMIT) {
          throw new LeaseStoreUnavailableError(
            `leases of group ${JSON.stringify(this.group)}: overtaken ${attempts} times by others`,
            { cause: error },
          )
        }
      }
      await this.clock.sleep(waitMs * this.random.fraction(), signal ?? never)
      waitMs = Math.min(waitMs * 2, BACK_OFF_MS.highest)
    }
  }

  #leaseDocument(set: string, record: LeaseRecord): LeaseDocument {
    return leaseDocument(record, {
      group: this.group,
      set,
      pkRangeId: this.pkRangeIds.of(record.id),
    })
  }

  #newGroup(): StoredGroup {
    const head = newGroupHead(this.random.hex(8))
    return { head, set: undefined, setVersion: 0, discarding: false, creating: undefined }
  }

  #noteTime(serverTimeMs: number): void {
    this.#storeTime = { ms: serverTimeMs, readAtMs: this.clock.monotonicMs() }
  }

  async #deleteIfThere(id: string, signal?: AbortSignal): Promise<void> {
    try {
      await this.collection.delete(id, this.group, { signal })
    } catch (error) {
      if (!isLostRace(error)) throw error
    }
  }
}

/** Also in a collection whose documents expire by default: leases stay. */
function neverExpiring(operation: BatchOperation): BatchOperation {
  if (!('document' in operation)) return operation
  return { ...operation, document: Object.assign({ ttl: -1 }, operation.document) }
}

/** Parts that fit into a batch together with `reserved` further operations. */
export function chunks<T>(items: readonly T[], reserved: number): readonly (readonly T[])[] {
  const size = BATCH_LIMIT - reserved
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}

/** Whether a conditional write found that another one was first. */
function isLostRace(error: unknown): boolean {
  const cause = failureOf(error)
  switch (errorCode(cause)) {
    case 'ERR_PRECONDITION_FAILED':
    case 'ERR_EXISTS':
      return true
    case 'ERR_NOT_FOUND':
      return resourceOf(cause) === 'document'
    default:
      return false
  }
}

/** What an error of the collection means for leases. */
export function leaseStoreError(
  error: unknown,
  collectionId: string,
  signal?: AbortSignal,
): unknown {
  if (signal?.aborted === true) return signal.reason
  const code = errorCode(error)
  const about = `lease collection ${JSON.stringify(collectionId)}`
  if (code === undefined || code.startsWith('ERR_LEASE') || code === 'ERR_INVALID_OPTION') {
    return error
  }
  if (!code.startsWith('ERR_') || !(error instanceof Error)) return error
  // Whoever closed it does not want to be served any more: a host ends with this.
  if (code === 'ERR_STORE_CLOSED') return error
  if (isRetryable(failureOf(error))) {
    return new LeaseStoreUnavailableError(`${about}: ${error.message}`, { cause: error })
  }
  return new LeaseStorageError(`${about} cannot hold leases: ${error.message}`, { cause: error })
}

/** Of a batch: why its operation failed. A server may throttle a single one of them. */
function failureOf(error: unknown): unknown {
  return errorCode(error) === 'ERR_BATCH_FAILED' && error instanceof Error ? error.cause : error
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true
}

function resourceOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'resource' in error
    ? error.resource
    : undefined
}
