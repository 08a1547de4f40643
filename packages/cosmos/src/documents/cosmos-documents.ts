import {
  InvalidDocumentError,
  PartitionKeyMismatchError,
  ResourceNotFoundError,
  errorCode,
  lsn,
  partitionKeyText,
  type BatchOperation,
  type BatchResult,
  type DeleteResult,
  type DocumentBody,
  type DocumentCollection,
  type EtagConditions,
  type PartitionKey,
  type PartitionKeyComponent,
  type PatchOperation,
  type PatchOptions,
  type ReadOptions,
  type ReadResult,
  type RequestOptions,
  type SourceRange,
  type Stored,
  type WriteOptions,
  type WriteResult,
} from '@tidemark/contracts'
import {
  PresentPkRanges,
  answerDateMs,
  answerLsn,
  batchDocuments,
  documentText,
  errorOfWire,
  extractPartitionKey,
  idOnPath,
  isJsonRecord,
  partitionKeyComponents,
  partitionKeyPathSegments,
  patchUnderCondition,
  storedOf,
  wireOperations,
  type AnswerHeader,
  type RequestEffect,
} from '@tidemark/contracts/internal'
import { callClient } from '../client-error.ts'
import { KnownContainer } from '../container-facts.ts'
import { headerOf, recordOf } from '../cosmos-container.ts'
import type { CosmosContainer, ItemAnswer } from '../cosmos-container.ts'
import { readInPages, type PartitionPage, type PartitionRead } from './read-partition.ts'

const DATE_RESOLUTION_MS = 1000
const PAGE_ITEMS = 1000

/**
 * A container of Azure Cosmos DB as a collection of documents, for leases and dead letters. The first call looks it up.
 *
 * `serverTimeMs` is the `date` of an answer, in whole seconds, so up to 1 s early (`serverTimeErrorMs`). A document without
 * an `_lsn` of its own has that of the answer.
 */
export function cosmosDocuments<T extends DocumentBody = DocumentBody>(
  container: CosmosContainer,
): DocumentCollection<T> {
  return new CosmosDocuments<T>(container)
}

class CosmosDocuments<T extends DocumentBody> implements DocumentCollection<T> {
  readonly id: string
  readonly identity: string
  readonly serverTimeErrorMs = DATE_RESOLUTION_MS
  readonly #container: CosmosContainer
  readonly #known: KnownContainer
  readonly #ranges: PresentPkRanges

  constructor(container: CosmosContainer) {
    const known = new KnownContainer(container)
    this.id = container.id
    this.identity = known.identity
    this.#container = container
    this.#known = known
    this.#ranges = new PresentPkRanges((signal) => known.readPkRanges(signal))
  }

  /** @throws ERR_NOT_FOUND before the first call that found the container */
  get partitionKeyPaths(): readonly string[] {
    const { known } = this.#known
    if (known === undefined) throw new ResourceNotFoundError('collection', this.id)
    return known.partitionKey.paths
  }

  async read(
    id: string,
    partitionKey: PartitionKey,
    { ifNoneMatch, signal }: ReadOptions = {},
  ): Promise<ReadResult<T>> {
    const item = await this.#item(id, partitionKey, signal)
    const answer = await this.#call({ id, effect: 'none', signal }, (shared) =>
      item.read({ ...shared, ...conditions({ ifNoneMatch }) }),
    )
    const { statusCode: status } = answer
    const header = headersOf(answer)
    const serverTimeMs = answerDateMs(header)
    // The client takes every 404 of a read for an answer, also that the container is missing.
    if (status === 404) {
      const failure = { status, substatus: answer.substatus, message: 'there is none' }
      const error = errorOfWire(failure, { resource: 'document', id, effect: 'none' })
      const isAbsence = error instanceof ResourceNotFoundError && error.resource === 'document'
      if (!isAbsence) throw error
    }
    const document = status === 200 ? stored<T>(answer.resource, answerLsn(header)) : undefined
    return { document, notModified: status === 304, serverTimeMs }
  }

  create(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write(document, options, (body, given) =>
      this.#container.items.create(body, given),
    )
  }

  upsert(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write(document, options, (body, given) =>
      this.#container.items.upsert(body, given),
    )
  }

  replace(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write(document, options, (body, given, key) =>
      this.#container.item(idForClient(document.id), key).replace(body, given),
    )
  }

  /** The client evaluates a condition, on a version that the patch then requires. At most 10 operations, as in the service. */
  patch(
    id: string,
    partitionKey: PartitionKey,
    operations: readonly PatchOperation[],
    options: PatchOptions<T> = {},
  ): Promise<WriteResult<T>> {
    const read = () => this.read(id, partitionKey, { signal: options.signal })
    return patchUnderCondition({ id, read, options }, async ({ signal, ...given }) => {
      const item = await this.#item(id, partitionKey, signal)
      const answer = await this.#call({ id, effect: 'write', signal }, (shared) =>
        item.patch(operations, { ...shared, ...conditions(given) }),
      )
      return written<T>(answer)
    })
  }

  async delete(
    id: string,
    partitionKey: PartitionKey,
    options: WriteOptions = {},
  ): Promise<DeleteResult> {
    const { signal } = options
    const item = await this.#item(id, partitionKey, signal)
    const answer = await this.#call({ id, effect: 'write', signal }, (shared) =>
      item.delete({ ...shared, ...conditions(options) }),
    )
    const header = headersOf(answer)
    return { lsn: lsn(answerLsn(header)), serverTimeMs: answerDateMs(header) }
  }

  async batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation<T>[],
    { signal }: RequestOptions = {},
  ): Promise<BatchResult<T>> {
    const onlyReads = operations.every(({ kind }) => kind === 'read')
    const sent = wireOperations(operations)
    const subject = {
      resource: 'collection',
      id: this.id,
      effect: onlyReads ? 'none' : 'write',
    } as const
    const key = await this.#key(partitionKey, signal)
    const answer = recordOf(
      await callClient(subject, signal, () =>
        this.#container.items.batch([...sent], key, { abortSignal: signal }),
      ),
    )
    const header = headersOf(answer)
    const documents = batchDocuments(answer['result'], operations).map((body) =>
      body === undefined ? undefined : stored<T>(body, answerLsn(header)),
    )
    return {
      lsn: onlyReads ? undefined : lsn(answerLsn(header)),
      documents,
      serverTimeMs: answerDateMs(header),
    }
  }

  async readPartition(
    partitionKey: PartitionKey,
    { signal }: RequestOptions = {},
  ): Promise<PartitionRead<T>> {
    const key = await this.#key(partitionKey, signal)
    return readInPages<T>(this.id, () => this.#pages(key, signal))
  }

  /** Makes the database, too. One partition key path, hashed by version 2. */
  async createIfNotExists({
    partitionKey,
    signal,
  }: { readonly partitionKey: string } & RequestOptions): Promise<void> {
    const { database, id } = this.#container
    const subject = { resource: 'collection', id, effect: 'none' } as const
    const isMissing = await this.#known.facts(signal).then(
      () => false,
      (error: unknown) => {
        if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
        return true
      },
    )
    if (!isMissing) return
    const definition = { id, partitionKey: { paths: [partitionKey], version: 2 as const } }
    // Who reads that there is none, and makes it a moment after another one, gets a conflict.
    await unlessThere(() =>
      callClient(subject, signal, () =>
        database.client.databases.createIfNotExists({ id: database.id }, { abortSignal: signal }),
      ),
    )
    await unlessThere(() =>
      callClient(subject, signal, () =>
        database.containers.createIfNotExists(definition, { abortSignal: signal }),
      ),
    )
  }

  async readFeedRanges({ signal }: RequestOptions = {}): Promise<readonly SourceRange[]> {
    await this.#known.facts(signal)
    return this.#ranges.refresh(signal)
  }

  async *#pages(key: unknown, signal: AbortSignal | undefined): AsyncGenerator<PartitionPage> {
    const subject = { resource: 'collection', id: this.id, effect: 'none' } as const
    const pages = this.#container.items.readAll({
      partitionKey: key,
      maxItemCount: PAGE_ITEMS,
      abortSignal: signal,
    })
    do {
      const page = await callClient(subject, signal, () => pages.fetchNext())
      yield { items: page.resources, header: headersOf(recordOf(page)) }
    } while (pages.hasMoreResults())
  }

  async #write(
    document: T,
    options: WriteOptions,
    send: (body: object, options: object, key: unknown) => Promise<ItemAnswer>,
  ): Promise<WriteResult<T>> {
    const { signal } = options
    const { partitionKey: definition } = await this.#known.facts(signal)
    const { parsed } = documentText(document)
    const paths = definition.paths.map(partitionKeyPathSegments)
    // What counts is the text. A number that it cannot say is refused all the same.
    extractPartitionKey(document, paths)
    const components = extractPartitionKey(parsed, paths)
    assertKey(components, options.partitionKey)
    const id = idForClient(parsed['id'])
    const answer = await this.#call({ id, effect: 'write', signal }, (shared) =>
      send(parsed, { ...shared, ...conditions(options) }, clientKey(components)),
    )
    return written<T>(answer)
  }

  async #item(
    id: string,
    partitionKey: PartitionKey,
    signal: AbortSignal | undefined,
  ): Promise<ReturnType<CosmosContainer['item']>> {
    return this.#container.item(idForClient(id), await this.#key(partitionKey, signal))
  }

  /** A partition key value as the client takes it. */
  async #key(partitionKey: PartitionKey, signal: AbortSignal | undefined): Promise<unknown> {
    const { partitionKey: definition } = await this.#known.facts(signal)
    return clientKey(partitionKeyComponents(partitionKey, definition.paths.length))
  }

  #call(
    about: {
      readonly id: string
      readonly effect: RequestEffect
      readonly signal: AbortSignal | undefined
    },
    call: (options: object) => Promise<ItemAnswer>,
  ): Promise<ItemAnswer> {
    const { id, effect, signal } = about
    return callClient({ resource: 'document', id, effect }, signal, () =>
      call({ abortSignal: signal }),
    )
  }
}

/**
 * An id by which the client can name a document. It writes `?` on the path as it is, where the path ends: with Entra ID, which signs no
 * path, `a?b` would be the document `a`.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
function idForClient(id: unknown): string {
  const named = idOnPath(id)
  if (!named.includes('?')) return named
  throw new InvalidDocumentError(
    `the client of Azure Cosmos DB cannot name a document with ? in its id, got ${JSON.stringify(named)}`,
  )
}

/** The client's form: one value, or a list where the key is hierarchical; `{}` for a property that is not there. */
function clientKey(components: readonly PartitionKeyComponent[]): unknown {
  const values = components.map((component) => (component === undefined ? {} : component))
  return values.length === 1 ? values[0] : values
}

/** @throws ERR_PARTITION_KEY_MISMATCH when a value that was named is not the document's */
function assertKey(
  components: readonly PartitionKeyComponent[],
  named: PartitionKey | undefined,
): void {
  if (named === undefined) return
  const [has, wants] = [
    partitionKeyText(components),
    partitionKeyText(partitionKeyComponents(named, components.length)),
  ]
  if (has !== wants) throw new PartitionKeyMismatchError(`the document has ${has}, not ${wants}`)
}

/** One condition is an access condition of the client, which has room for one; a second one is a header. */
function conditions({ ifMatch, ifNoneMatch }: EtagConditions): object {
  if (ifMatch === undefined && ifNoneMatch === undefined) return {}
  if (ifMatch === undefined) {
    return { accessCondition: { type: 'IfNoneMatch', condition: ifNoneMatch } }
  }
  return {
    accessCondition: { type: 'IfMatch', condition: ifMatch },
    ...(ifNoneMatch !== undefined && { initialHeaders: { 'if-none-match': ifNoneMatch } }),
  }
}

function written<T extends DocumentBody>(answer: ItemAnswer): WriteResult<T> {
  const header = headersOf(answer)
  const document = stored<T>(answer.resource, answerLsn(header))
  return {
    document,
    etag: document._etag,
    lsn: lsn(document._lsn),
    created: answer.statusCode === 201,
    serverTimeMs: answerDateMs(header),
  }
}

/** The service's documents have no `_lsn` outside of feeds: the LSN of the answer is used then. */
function stored<T extends DocumentBody>(value: unknown, standIn: number): Stored<T> {
  const document = storedOf<T>(value)
  return typeof document._lsn === 'number' ? document : { ...document, _lsn: standIn }
}

function headersOf({ headers }: { readonly headers?: unknown }): AnswerHeader {
  const known = isJsonRecord(headers) ? headers : undefined
  return (name) => headerOf(known, name)
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create()
  } catch (error) {
    if (errorCode(error) !== 'ERR_EXISTS') throw error
  }
}
