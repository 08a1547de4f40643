import {
  lsn,
  partitionKeyText,
  type BatchOperation,
  type BatchResult,
  type CommitOptions,
  type DeleteResult,
  type DocumentBody,
  type DocumentCollection,
  type Lsn,
  type PartitionKey,
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
  checkOptions,
  extractPartitionKey,
  partitionKeyComponents,
  partitionKeyPathSegments,
  patchUnderCondition,
  wireOperations,
  batchDocuments,
  documentText,
  idOnPath,
  jsonText,
  PresentPkRanges,
  answerLsn,
  storedOf,
} from '@tidemark/contracts/internal'
import { OWN_HEADER, asciiJson } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { NOTHING_CAME, callToWrite, callWaiting } from './call-extension.ts'
import type { CosmosConnection } from './cosmos-connection.ts'
import { createContainer } from './create-container.ts'
import { readRemotePartition } from './read-remote-partition.ts'
import { containerNameRules, RemoteContainer, type ContainerName } from './remote-container.ts'
import { jsonOf, parsed, serverTimeMs, type WireAnswer } from './wire-answer.ts'

/** For a gateway that lets no client wait. */
const POLL_INTERVAL_MS = 1000

/**
 * A collection behind a Tidemark gateway, for leases and dead letters. The first call looks it up. `serverTimeMs` is the store's clock.
 *
 * At a server of another kind every call rejects with ERR_SERVER_UNSUPPORTED: containers of an account are for `cosmosDocuments` and
 * `cosmosLeases` of `@tidemark/cosmos`.
 */
export class CosmosDocumentCollection<
  T extends DocumentBody = DocumentBody,
> implements DocumentCollection<T> {
  readonly id: string
  readonly #container: RemoteContainer
  readonly #ranges: PresentPkRanges

  /** @throws ERR_INVALID_OPTION */
  constructor(connection: CosmosConnection, name: ContainerName) {
    checkOptions(name, containerNameRules)
    this.id = name.container
    this.#container = new RemoteContainer(connection, name)
    this.#ranges = new PresentPkRanges((signal) => this.#container.readPkRanges(signal))
  }

  get identity(): string {
    return this.#container.identity
  }

  /** @throws ERR_NOT_FOUND before the first call that found the container */
  get partitionKeyPaths(): readonly string[] {
    return this.#container.present.partitionKey.paths
  }

  async read(
    id: string,
    partitionKey: PartitionKey,
    { ifNoneMatch, signal }: ReadOptions = {},
  ): Promise<ReadResult<T>> {
    await this.#container.facts(signal)
    const headers: Record<string, string> = { ...this.#keyHeader(partitionKey) }
    if (ifNoneMatch !== undefined) headers[HEADER.ifNoneMatch] = ifNoneMatch
    const answer = await this.#container.send({
      method: 'GET',
      path: ['docs', idOnPath(id)],
      headers,
      subject: { resource: 'document', id, effect: 'none' },
      acceptsAbsence: true,
      signal,
    })
    const notModified = answer.status === 304
    const document =
      answer.status === 200 ? this.#stored(jsonOf(answer), answerLsn(answer.header)) : undefined
    return { document, notModified, serverTimeMs: serverTimeMs(answer) }
  }

  create(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('create', document, options)
  }

  upsert(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('upsert', document, options)
  }

  replace(document: T, options: WriteOptions = {}): Promise<WriteResult<T>> {
    return this.#write('replace', document, options)
  }

  /** The client evaluates a condition, on a version that the patch then requires. At most 10 operations, as on the wire. */
  patch(
    id: string,
    partitionKey: PartitionKey,
    operations: readonly PatchOperation[],
    options: PatchOptions<T> = {},
  ): Promise<WriteResult<T>> {
    const read = () => this.read(id, partitionKey, { signal: options.signal })
    return patchUnderCondition({ id, read, options }, (given) =>
      this.#patch(id, partitionKey, { operations, options: given }),
    )
  }

  async delete(
    id: string,
    partitionKey: PartitionKey,
    options: WriteOptions = {},
  ): Promise<DeleteResult> {
    await this.#container.facts(options.signal)
    const answer = await this.#container.send({
      method: 'DELETE',
      path: ['docs', idOnPath(id)],
      headers: { ...this.#keyHeader(partitionKey), ...conditionHeaders(options) },
      subject: { resource: 'document', id, effect: 'write' },
      signal: options.signal,
    })
    return { lsn: lsn(answerLsn(answer.header)), serverTimeMs: serverTimeMs(answer) }
  }

  async batch(
    partitionKey: PartitionKey,
    operations: readonly BatchOperation<T>[],
    { sync, signal }: CommitOptions = {},
  ): Promise<BatchResult<T>> {
    await this.#container.facts(signal)
    const onlyReads = operations.every(({ kind }) => kind === 'read')
    const answer = await this.#container.send({
      method: 'POST',
      path: ['docs'],
      headers: {
        ...this.#keyHeader(partitionKey),
        [HEADER.isBatch]: 'true',
        [HEADER.batchAtomic]: 'true',
        ...(sync === false && { [OWN_HEADER.sync]: 'false' }),
      },
      body: jsonText(wireOperations(operations)),
      subject: { resource: 'collection', id: this.id, effect: onlyReads ? 'none' : 'write' },
      signal,
    })
    const lsns = batchLsns(answer)
    const said = {
      code: answer.header(OWN_HEADER.errorCode),
      detail: answer.header(OWN_HEADER.errorDetail),
    }
    const results = batchDocuments(parsed(answer.body), operations, said)
    const documents = results.map((body, index) =>
      body === undefined
        ? undefined
        : this.#stored(body, lsns?.[index] ?? answerLsn(answer.header)),
    )
    return {
      lsn: onlyReads ? undefined : lsn(answerLsn(answer.header)),
      documents,
      serverTimeMs: serverTimeMs(answer),
    }
  }

  async flush({ signal }: RequestOptions = {}): Promise<void> {
    await this.#container.facts(signal)
    await callToWrite(this.#container, { flush: true }, { signal })
  }

  async readPartition(
    partitionKey: PartitionKey,
    { signal }: RequestOptions = {},
  ): Promise<{ readonly documents: readonly Stored<T>[]; readonly serverTimeMs: number }> {
    await this.#container.facts(signal)
    return readRemotePartition<T>(this.#container, {
      partitionKey: this.#keyText(partitionKey),
      signal,
    })
  }

  async waitForCommit(request: {
    readonly partitionKey: PartitionKey
    readonly afterLsn: Lsn
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    const { afterLsn, timeoutMs, signal } = request
    await this.#container.facts(signal)
    const partitionKey = this.#keyText(request.partitionKey)
    const call = { call: 'waitForCommit', partitionKey, afterLsn } as const
    const came = await callWaiting(this.#container, (waitMs) => ({ ...call, timeoutMs: waitMs }), {
      timeoutMs,
      restMs: POLL_INTERVAL_MS,
      signal,
    })
    return came !== NOTHING_CAME
  }

  /** Makes the database, too. One partition key path, hashed by version 2. */
  async createIfNotExists({
    partitionKey,
    signal,
  }: { readonly partitionKey: string } & RequestOptions): Promise<void> {
    await createContainer(this.#container, { partitionKey, signal })
  }

  async readFeedRanges({ signal }: RequestOptions = {}): Promise<readonly SourceRange[]> {
    await this.#container.facts(signal)
    return this.#ranges.refresh(signal)
  }

  async #patch(
    id: string,
    partitionKey: PartitionKey,
    request: { readonly operations: readonly PatchOperation[]; readonly options: WriteOptions },
  ): Promise<WriteResult<T>> {
    const { operations, options } = request
    await this.#container.facts(options.signal)
    const answer = await this.#container.send({
      method: 'PATCH',
      path: ['docs', idOnPath(id)],
      headers: { ...this.#keyHeader(partitionKey), ...conditionHeaders(options) },
      body: jsonText({ operations }),
      subject: { resource: 'document', id, effect: 'write' },
      signal: options.signal,
    })
    return this.#written(answer)
  }

  async #write(
    kind: 'create' | 'upsert' | 'replace',
    document: T,
    options: WriteOptions,
  ): Promise<WriteResult<T>> {
    const { partitionKey: definition } = await this.#container.facts(options.signal)
    const { partitionKey } = options
    const { text: body, parsed } = documentText(document)
    const paths = definition.paths.map(partitionKeyPathSegments)
    // What counts is the text. A number that it cannot say is refused all the same.
    extractPartitionKey(document, paths)
    const key =
      partitionKey === undefined
        ? headerText(extractPartitionKey(parsed, paths))
        : this.#keyText(partitionKey)
    const id = String(parsed['id'])
    const answer = await this.#container.send({
      method: kind === 'replace' ? 'PUT' : 'POST',
      path: kind === 'replace' ? ['docs', idOnPath(parsed['id'])] : ['docs'],
      headers: {
        ...(kind === 'upsert' && { [HEADER.isUpsert]: 'true' }),
        [HEADER.partitionKey]: key,
        ...conditionHeaders(options),
      },
      body,
      subject: { resource: 'document', id, effect: 'write' },
      signal: options.signal,
    })
    return this.#written(answer)
  }

  #written(answer: WireAnswer): WriteResult<T> {
    const document = this.#stored(jsonOf(answer), answerLsn(answer.header))
    return {
      document,
      etag: document._etag,
      lsn: lsn(document._lsn),
      created: answer.status === 201,
      serverTimeMs: serverTimeMs(answer),
    }
  }

  /** The service's documents have no `_lsn` outside of feeds: the LSN of the answer is used then. */
  #stored(value: unknown, standIn: number): Stored<T> {
    const document = storedOf<T>(value)
    if (typeof document._lsn === 'number') return document
    return { ...document, _lsn: standIn }
  }

  #keyHeader(partitionKey: PartitionKey): Readonly<Record<string, string>> {
    return { [HEADER.partitionKey]: this.#keyText(partitionKey) }
  }

  #keyText(partitionKey: PartitionKey): string {
    return headerText(partitionKeyComponents(partitionKey, this.partitionKeyPaths.length))
  }
}

/** Canonical text of a partition key value, escaped to ASCII. */
function headerText(components: Parameters<typeof partitionKeyText>[0]): string {
  const list: unknown = JSON.parse(partitionKeyText(components))
  return asciiJson(list)
}

function conditionHeaders({
  ifMatch,
  ifNoneMatch,
}: WriteOptions): Readonly<Record<string, string>> {
  return {
    ...(ifMatch !== undefined && { [HEADER.ifMatch]: ifMatch }),
    ...(ifNoneMatch !== undefined && { [HEADER.ifNoneMatch]: ifNoneMatch }),
  }
}

/** LSN of each result's document, where the server is our gateway and something was read; else undefined. */
function batchLsns({ header }: WireAnswer): readonly (number | undefined)[] | undefined {
  return header(OWN_HEADER.lsns)
    ?.split(',')
    .map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined))
}
