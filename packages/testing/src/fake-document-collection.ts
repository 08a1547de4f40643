import {
  BatchFailedError,
  CodedError,
  FULL_RANGE,
  lsn,
  partitionKeyText,
  PreconditionFailedError,
  ResourceExistsError,
  ResourceNotFoundError,
  type BatchOperation,
  type BatchResult,
  type Clock,
  type CommitOptions,
  type DeleteResult,
  type DocumentBody,
  type DocumentCollection,
  type FeedRange,
  type PartitionKey,
  type ReadOptions,
  type ReadResult,
  type RequestOptions,
  type Stored,
  type WriteOptions,
  type WriteResult,
} from '@tidemark/contracts'
import {
  partitionKeyOf,
  extractPartitionKey,
  partitionKeyComponents,
  partitionKeyPathSegments,
} from '@tidemark/contracts/internal'

export interface FakeDocumentCollectionOptions {
  clock: Clock
  /** Its name. @default `leases` */
  id?: string | undefined
  /** Paths of the partition key. @default `['/partitionKey']` */
  partitionKeyPaths?: readonly string[] | undefined
  /** Called before each request with its method's name; throwing fails it. @default nothing */
  before?: ((method: string) => Promise<void> | void) | undefined
  /** Called after each request took effect; throwing loses the answer. @default nothing */
  after?: ((method: string) => Promise<void> | void) | undefined
  /** Awaited by each request before it takes effect, so that those of several hosts mix. @default one turn of the event loop */
  turn?: (() => Promise<void> | void) | undefined
}

/** All documents at one moment. */
export type DocumentsSnapshot = ReadonlyMap<string, Stored<DocumentBody>>

/**
 * A document collection in memory with nothing behind it: for tests that need faults which no real
 * store has on demand. It has no `patch`, no expiry and one pkrange.
 */
export class FakeDocumentCollection implements DocumentCollection {
  readonly id: string
  readonly identity: string
  readonly partitionKeyPaths: readonly string[]
  /** Requests so far, by method. */
  readonly requests: Map<string, number> = new Map()
  readonly #options: FakeDocumentCollectionOptions
  readonly #waiting = new Set<() => void>()
  #documents: DocumentsSnapshot = new Map()
  /** What was held before each commit that is not on disk, oldest first. */
  #unsynced: DocumentsSnapshot[] = []
  #lsn = 0

  constructor(options: FakeDocumentCollectionOptions) {
    const { id = 'leases', partitionKeyPaths = ['/partitionKey'] } = options
    this.id = id
    this.identity = `fake/${id}`
    this.partitionKeyPaths = partitionKeyPaths
    this.#options = options
  }

  /** Of the last commit. */
  get newestLsn(): number {
    return this.#lsn
  }

  /** What it holds at this moment, by partition key value and id. */
  snapshot(): DocumentsSnapshot {
    return this.#documents
  }

  /** Goes back to what it held, as after a fail-over to a replica that lagged. Etags do not come again. */
  restore(snapshot: DocumentsSnapshot): void {
    this.#documents = new Map(snapshot)
    this.#unsynced = []
    this.#lsn += 1
  }

  /** What it would hold at least if its machine died at this moment. */
  get synced(): DocumentsSnapshot {
    return this.#unsynced[0] ?? this.#documents
  }

  /** Commits that are not on disk: made with `sync: false`, with no flush and no other commit since. */
  get unsyncedCommits(): number {
    return this.#unsynced.length
  }

  /** Its machine dies and comes back: of the commits that were not on disk, only the `kept` oldest are still there. Etags do not come again. */
  crash({ kept }: { kept: number }): void {
    this.restore(this.#unsynced[kept] ?? this.#documents)
  }

  /** Everything that was committed before is on disk. */
  flush({ signal }: RequestOptions = {}): Promise<void> {
    return this.#request('flush', signal, () => {
      this.#unsynced = []
    })
  }

  read(
    id: string,
    partitionKey: PartitionKey,
    { ifNoneMatch, signal }: ReadOptions = {},
  ): Promise<ReadResult<DocumentBody>> {
    return this.#request('read', signal, () => {
      const document = this.#documents.get(this.#key(partitionKey, id))
      const notModified = document !== undefined && document._etag === ifNoneMatch
      return {
        document: notModified ? undefined : document,
        notModified,
        serverTimeMs: this.#options.clock.wallMs(),
      }
    })
  }

  create(document: DocumentBody, options?: WriteOptions): Promise<WriteResult<DocumentBody>> {
    return this.#write('create', { kind: 'create', document }, options)
  }

  upsert(document: DocumentBody, options?: WriteOptions): Promise<WriteResult<DocumentBody>> {
    return this.#write('upsert', { kind: 'upsert', document, ...conditions(options) }, options)
  }

  replace(document: DocumentBody, options?: WriteOptions): Promise<WriteResult<DocumentBody>> {
    return this.#write('replace', { kind: 'replace', document, ...conditions(options) }, options)
  }

  patch(): Promise<never> {
    return Promise.reject(new Error('FakeDocumentCollection has no patch'))
  }

  delete(
    id: string,
    partitionKey: PartitionKey,
    options: WriteOptions = {},
  ): Promise<DeleteResult> {
    return this.#request('delete', options.signal, () => {
      this.#apply(partitionKey, [{ kind: 'delete', id, ...conditions(options) }])
      return { lsn: lsn(this.#lsn), serverTimeMs: this.#options.clock.wallMs() }
    })
  }

  batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation[],
    { signal, sync = true }: CommitOptions = {},
  ): Promise<BatchResult<DocumentBody>> {
    return this.#request('batch', signal, () => {
      if (operations.length > 100) throw new Error(`a batch of ${operations.length} operations`)
      const documents = this.#apply(partitionKey, operations, { batch: true, sync })
      const onlyReads = operations.every(({ kind }) => kind === 'read')
      return {
        lsn: onlyReads ? undefined : lsn(this.#lsn),
        documents,
        serverTimeMs: this.#options.clock.wallMs(),
      }
    })
  }

  readPartition(
    partitionKey: PartitionKey,
    { signal }: RequestOptions = {},
  ): Promise<{ documents: readonly Stored<DocumentBody>[]; serverTimeMs: number }> {
    return this.#request('readPartition', signal, () => {
      const prefix = this.#key(partitionKey, '')
      const documents = [...this.#documents]
        .filter(([key]) => key.startsWith(prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, document]) => document)
      return { documents, serverTimeMs: this.#options.clock.wallMs() }
    })
  }

  async waitForCommit({
    afterLsn,
    timeoutMs,
    signal,
  }: {
    afterLsn: number
    timeoutMs: number
    signal: AbortSignal
  }): Promise<boolean> {
    if (this.#lsn > afterLsn) return true
    return new Promise<boolean>((resolve, reject) => {
      const done = (settle: () => void): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        this.#waiting.delete(onCommit)
        settle()
      }
      const onCommit = (): void => done(() => resolve(true))
      const onAbort = (): void => done(() => reject(signal.reason))
      const timer = setTimeout(() => done(() => resolve(false)), timeoutMs)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(onCommit)
    })
  }

  async readFeedRanges({ signal }: RequestOptions = {}): Promise<readonly FeedRange[]> {
    return this.#request('readFeedRanges', signal, () => [FULL_RANGE])
  }

  async #write(
    method: string,
    operation: BatchOperation & { readonly document: DocumentBody },
    { signal }: WriteOptions = {},
  ): Promise<WriteResult<DocumentBody>> {
    return this.#request(method, signal, () => {
      const paths = this.partitionKeyPaths.map(partitionKeyPathSegments)
      const partitionKey = partitionKeyOf(extractPartitionKey(operation.document, paths))
      const created = !this.#documents.has(this.#key(partitionKey, operation.document.id))
      const [document] = this.#apply(partitionKey, [operation])
      if (document === undefined) throw new Error('a write answers with its document')
      const serverTimeMs = this.#options.clock.wallMs()
      return { document, etag: document._etag, lsn: lsn(this.#lsn), created, serverTimeMs }
    })
  }

  async #request<T>(method: string, signal: AbortSignal | undefined, act: () => T): Promise<T> {
    signal?.throwIfAborted()
    this.requests.set(method, (this.requests.get(method) ?? 0) + 1)
    await this.#options.before?.(method)
    await (this.#options.turn ?? eventLoopTurn)()
    const answer = act()
    await this.#options.after?.(method)
    return answer
  }

  #apply(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation[],
    { batch = false, sync = true }: { batch?: boolean; sync?: boolean } = {},
  ): (Stored<DocumentBody> | undefined)[] {
    const before = this.#documents
    const after = new Map(before)
    const next = this.#lsn + 1
    const documents = operations.map((operation, index) => {
      try {
        return this.#applyOne(after, partitionKey, operation, next)
      } catch (error) {
        throw batch && error instanceof CodedError ? new BatchFailedError(index, error) : error
      }
    })
    if (operations.every(({ kind }) => kind === 'read')) return documents
    this.#unsynced = sync ? [] : [...this.#unsynced, before]
    this.#documents = after
    this.#lsn = next
    for (const wake of this.#waiting) wake()
    return documents
  }

  #applyOne(
    documents: Map<string, Stored<DocumentBody>>,
    partitionKey: PartitionKey,
    operation: BatchOperation,
    next: number,
  ): Stored<DocumentBody> | undefined {
    const id = 'document' in operation ? operation.document.id : operation.id
    const key = this.#key(partitionKey, id)
    const present = documents.get(key)
    if (operation.kind === 'create' && present) throw new ResourceExistsError('document', id)
    if (present === undefined && !['create', 'upsert'].includes(operation.kind)) {
      throw new ResourceNotFoundError('document', id)
    }
    const ifMatch = 'ifMatch' in operation ? operation.ifMatch : undefined
    if (ifMatch !== undefined && ifMatch !== '*' && present?._etag !== ifMatch) {
      throw new PreconditionFailedError(id, `the etag is ${present?._etag}`)
    }
    if (!('document' in operation)) {
      if (operation.kind === 'read') return present
      if (operation.kind === 'patch') throw new Error('FakeDocumentCollection has no patch')
      documents.delete(key)
      return undefined
    }
    // As a real store would: what JSON does not have is not there.
    const body = JSON.parse(JSON.stringify(operation.document)) as DocumentBody
    const stored: Stored<DocumentBody> = deepFrozen({
      ...body,
      _rid: key,
      _self: key,
      _etag: `"${next}"`,
      _ts: Math.floor(this.#options.clock.wallMs() / 1000),
      _lsn: next,
    })
    documents.set(key, stored)
    return stored
  }

  #key(partitionKey: PartitionKey, id: string): string {
    const components = partitionKeyComponents(partitionKey, this.partitionKeyPaths.length)
    return `${partitionKeyText(components)}/${id}`
  }
}

function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Readers share what is stored: whoever tries to change it is told. */
function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFrozen(part)
  return Object.freeze(value)
}

function conditions({ ifMatch, ifNoneMatch }: WriteOptions = {}): {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
} {
  return { ifMatch, ifNoneMatch }
}
