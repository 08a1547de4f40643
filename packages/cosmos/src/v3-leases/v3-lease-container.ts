import { isDeepStrictEqual } from 'node:util'
import {
  errorCode,
  LeasesChangedError,
  LeaseStorageError,
  UnsupportedServerError,
  type RequestOptions,
} from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import { callClient } from '../client-error.ts'
import { recordOf, type CosmosContainer } from '../cosmos-container.ts'
import { serverDateMs } from '../platform/dates.ts'
import { LeasesInUseError } from './leases-in-use-error.ts'
import { property } from './v3-continuation.ts'
import { parseV3Lease, type V3Lease } from './v3-lease.ts'

/** What is in a lease container of one processor. */
export interface V3Leases {
  readonly leases: readonly V3Lease[]
  /** The processor has created all its leases once, and does not look for missing ones. */
  readonly isInitialized: boolean
}

/** A container in which the .NET or Java SDK keeps leases. */
export class V3LeaseContainer {
  readonly #container: CosmosContainer
  /** `/id` or `/partitionKey`. */
  readonly partitionKeyPath: (typeof PATHS)[number]
  /** Epoch ms of the server when the container was opened. */
  readonly #nowMs: number

  private constructor(
    container: CosmosContainer,
    partitionKeyPath: (typeof PATHS)[number],
    nowMs: number,
  ) {
    this.#container = container
    this.partitionKeyPath = partitionKeyPath
    this.#nowMs = nowMs
  }

  /** Rejects with ERR_LEASE_STORAGE when neither SDK would keep leases there. */
  static async open(
    container: CosmosContainer,
    { signal }: RequestOptions,
  ): Promise<V3LeaseContainer> {
    const { id } = container
    const subject = { resource: 'collection', id, effect: 'none' } as const
    const { resource, headers } = await callClient(subject, signal, () =>
      container.read({ abortSignal: signal }),
    )
    const { partitionKey } = recordOf(resource)
    const paths = isJsonRecord(partitionKey) ? partitionKey['paths'] : undefined
    const [path] = PATHS.filter((one) => isDeepStrictEqual(paths, [one]))
    if (path === undefined) {
      throw new LeaseStorageError(
        `container ${id} has the partition key ${JSON.stringify(paths)}: leases of a .NET or Java processor are in ` +
          'containers partitioned by /id or /partitionKey',
      )
    }
    const nowMs = serverDateMs(headers['date'])
    if (nowMs === undefined) {
      throw new UnsupportedServerError(`the server of container ${id} does not say its time`)
    }
    return new V3LeaseContainer(container, path, nowMs)
  }

  /**
   * What a processor has here, by the prefix of its ids.
   *
   * Rejects with ERR_LEASE_STORAGE when a document there is no lease.
   */
  async read(prefix: string, request: RequestOptions): Promise<V3Leases> {
    const documents = await this.#query(
      'SELECT * FROM c WHERE STARTSWITH(c.id, @text)',
      `${prefix}.`,
      request,
    )
    const idOf = (document: unknown): string => String(property(document, 'id'))
    return {
      leases: documents.filter((one) => idOf(one).startsWith(`${prefix}..`)).map(parseV3Lease),
      isInitialized: documents.some((one) => idOf(one) === `${prefix}.info`),
    }
  }

  /** What the ids of leases begin with, whatever processor they are of: of about 200 leases. */
  async prefixes(request: RequestOptions): Promise<readonly string[]> {
    const query = 'SELECT TOP 200 VALUE c.id FROM c WHERE CONTAINS(c.id, @text)'
    const ids = (await this.#query(query, '..', request)).map(String)
    return [...new Set(ids.map((id) => id.slice(0, id.indexOf('..'))))].sort()
  }

  /**
   * A processor renews the leases of its hosts, with a write each time. Only the server's clock counts, for those
   * writes and for what "now" is: those of the hosts and of this machine may be wrong.
   *
   * @throws ERR_LEASES_IN_USE when an owner has written its lease within that time
   */
  refuseLive(leases: readonly V3Lease[], expirationIntervalMs: number): void {
    const live = leases.filter(
      ({ owner, writtenMs }) =>
        owner !== undefined && this.#nowMs - writtenMs <= expirationIntervalMs,
    )
    if (live.length === 0) return
    const owners = new Set(live.map(({ owner }) => owner))
    throw new LeasesInUseError(
      `${live.length} of ${leases.length} leases in container ${this.#container.id} were renewed within the last ` +
        `${expirationIntervalMs / 1000} s, by ${[...owners].join(', ')}: stop that processor first`,
    )
  }

  /** Rejects with ERR_LEASES_CHANGED when somebody has written or deleted the document since it was read. */
  async write(
    document: { readonly id: string },
    old: V3Lease | undefined,
    { signal: abortSignal }: RequestOptions,
  ): Promise<void> {
    const { id } = document
    const partitionKey = old?.partitionKey ?? id
    const body = { ...document, ...(this.#isById ? {} : { partitionKey }) }
    await this.#unlessChanged(id, abortSignal, () =>
      old === undefined
        ? this.#container.items.create(body, { abortSignal })
        : this.#item(id, partitionKey).replace(body, { ...ifMatch(old), abortSignal }),
    )
  }

  /** Rejects as `write`. */
  async delete(lease: V3Lease, { signal: abortSignal }: RequestOptions): Promise<void> {
    const { id, partitionKey } = lease
    await this.#unlessChanged(id, abortSignal, () =>
      this.#item(id, partitionKey).delete({ ...ifMatch(lease), abortSignal }),
    )
  }

  get #isById(): boolean {
    return this.partitionKeyPath === '/id'
  }

  #item(id: string, partitionKey: string | undefined): ReturnType<CosmosContainer['item']> {
    return this.#container.item(id, this.#isById ? id : partitionKey)
  }

  async #query(
    query: string,
    text: string,
    { signal }: RequestOptions,
  ): Promise<readonly unknown[]> {
    const { id, items } = this.#container
    const parameters = [{ name: '@text', value: text }]
    const subject = { resource: 'collection', id, effect: 'none' } as const
    const { resources } = await callClient(subject, signal, () =>
      items.query({ query, parameters }, { abortSignal: signal }).fetchAll(),
    )
    return resources
  }

  async #unlessChanged(
    id: string,
    signal: AbortSignal | undefined,
    act: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await callClient({ resource: 'document', id, effect: 'write' }, signal, act)
    } catch (cause) {
      if (!CHANGED.has(errorCode(cause) ?? '')) throw cause
      throw new LeasesChangedError(
        `document ${JSON.stringify(id)} in container ${this.#container.id} was changed by others meanwhile`,
        { cause },
      )
    }
  }
}

/** By what the SDKs partition lease containers. */
const PATHS = ['/id', '/partitionKey'] as const

/** Another one has created, replaced or deleted what is to be written. */
const CHANGED: ReadonlySet<string> = new Set([
  'ERR_EXISTS',
  'ERR_PRECONDITION_FAILED',
  'ERR_NOT_FOUND',
])

function ifMatch({ etag }: V3Lease): object {
  return { accessCondition: { type: 'IfMatch', condition: etag } }
}
