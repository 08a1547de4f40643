import type { Container } from '@azure/cosmos'
import { LeasesChangedError, LeaseStorageError, type RequestOptions } from '@tidemark/contracts'
import { serverDateMs } from '../platform/server-date.ts'
import { LeasesInUseError } from './leases-in-use-error.ts'
import { parseV3Lease, type V3Lease } from './v3-lease.ts'

/** What is in a lease container of one processor. */
export interface V3Leases {
  readonly leases: readonly V3Lease[]
  /** The processor has created all its leases once, and does not look for missing ones. */
  readonly isInitialized: boolean
}

/** A container in which the .NET or Java SDK keeps leases. */
export class V3LeaseContainer {
  readonly #container: Container
  /** `/id` or `/partitionKey`. */
  readonly partitionKeyPath: string
  /** Epoch ms of the server when the container was opened. */
  readonly #nowMs: number

  private constructor(container: Container, partitionKeyPath: string, nowMs: number) {
    this.#container = container
    this.partitionKeyPath = partitionKeyPath
    this.#nowMs = nowMs
  }

  /** Rejects with ERR_LEASE_STORAGE when neither SDK would keep leases there. */
  static async open(container: Container, { signal }: RequestOptions): Promise<V3LeaseContainer> {
    const { resource, headers } = await container.read(aborted(signal))
    const paths = resource?.partitionKey?.paths ?? []
    const [path = '', ...others] = paths
    if (others.length > 0 || !['/id', '/partitionKey'].includes(path)) {
      throw new LeaseStorageError(
        `container ${container.id} has the partition key ${paths.join(', ') || 'of an old kind'}: leases of a .NET or Java ` +
          'processor are in containers partitioned by /id or /partitionKey',
      )
    }
    const nowMs = serverDateMs(headers['date'])
    if (nowMs === undefined) {
      throw new LeaseStorageError(`the server of container ${container.id} does not say its time`)
    }
    return new V3LeaseContainer(container, path, nowMs)
  }

  /**
   * What a processor has here, by the prefix of its ids.
   *
   * Rejects with ERR_LEASE_STORAGE when a document there is no lease.
   */
  async read(prefix: string, { signal }: RequestOptions): Promise<V3Leases> {
    const query = {
      query: 'SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)',
      parameters: [{ name: '@prefix', value: `${prefix}.` }],
    }
    const { resources } = await this.#container.items
      .query<{ readonly id: string }>(query, aborted(signal))
      .fetchAll()
    return {
      leases: resources.filter(({ id }) => id.startsWith(`${prefix}..`)).map(parseV3Lease),
      isInitialized: resources.some(({ id }) => id === `${prefix}.info`),
    }
  }

  /** What the ids of leases begin with, whatever processor they are of: of about 200 leases. */
  async prefixes({ signal }: RequestOptions): Promise<readonly string[]> {
    const query = "SELECT TOP 200 VALUE c.id FROM c WHERE CONTAINS(c.id, '..')"
    const { resources } = await this.#container.items
      .query<string>(query, aborted(signal))
      .fetchAll()
    return [...new Set(resources.map((id) => id.slice(0, id.indexOf('..'))))].sort()
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
    { signal }: RequestOptions,
  ): Promise<void> {
    const { id } = document
    const partitionKey = old?.partitionKey ?? id
    const body = { ...document, ...(this.#isById ? {} : { partitionKey }) }
    await this.#unlessChanged(id, () =>
      old === undefined
        ? this.#container.items.create(body, aborted(signal))
        : this.#container
            .item(id, this.#isById ? id : partitionKey)
            .replace(body, ifMatch(old, signal)),
    )
  }

  /** Rejects as `write`. */
  async delete(lease: V3Lease, { signal }: RequestOptions): Promise<void> {
    const { id, partitionKey } = lease
    await this.#unlessChanged(id, () =>
      this.#container.item(id, this.#isById ? id : partitionKey).delete(ifMatch(lease, signal)),
    )
  }

  get #isById(): boolean {
    return this.partitionKeyPath === '/id'
  }

  async #unlessChanged(id: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act()
    } catch (cause) {
      const status: unknown =
        typeof cause === 'object' && cause !== null && Reflect.get(cause, 'code')
      if (![404, 409, 412].includes(Number(status))) throw cause
      throw new LeasesChangedError(
        `document ${JSON.stringify(id)} in container ${this.#container.id} was changed by others meanwhile`,
        { cause },
      )
    }
  }
}

function aborted(signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal }
}

function ifMatch({ etag }: V3Lease, signal: AbortSignal | undefined) {
  return { accessCondition: { type: 'IfMatch', condition: etag }, ...aborted(signal) }
}
