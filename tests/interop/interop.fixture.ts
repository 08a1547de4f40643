import {
  CosmosClient,
  ErrorResponse,
  type ChangeFeedPullModelIterator,
  type Container,
  type ContainerRequest,
  type CosmosClientOptions,
  type Database,
  type QueryIterator,
} from '@azure/cosmos'
import {
  startGateway,
  type GatewayFailure,
  type RunningGateway,
  type StartGatewayOptions,
} from '@tidemark/gateway'
import { systemClock } from '@tidemark/contracts'
import { Store, type StorageEngine } from '@tidemark/store'
import { openMemoryEngine, SteppedClock } from '@tidemark/testing'
import { expect } from 'vitest'
import { sendSigned, type WireAnswer, type WireRequest } from './signed-request.ts'

export const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
export const READ_ONLY_KEY = 'cmVhZC1vbmx5LWtleS1mb3ItaW50ZXJvcC10ZXN0cyE='

/** A gateway in this process on a free port, and the unmodified client at it. */
export interface Interop {
  readonly store: Store
  readonly gateway: RunningGateway
  readonly client: CosmosClient
  readonly database: Database
  /** The store's, which stands still; the gateway and the client go by the machine's. */
  readonly clock: SteppedClock
  /** What failed by no fault of a client: none at the end, or the gateway is wrong. */
  readonly failures: readonly GatewayFailure[]
  /** A container of its own: `/pk` of version 2 unless the definition says otherwise. */
  container(definition?: Partial<ContainerRequest>): Promise<Container>
  /** Another client, also at the gateway. */
  connect(options?: Partial<CosmosClientOptions>): CosmosClient
  /** What the client hides or never does, signed as the protocol has it. */
  send(request: WireRequest): Promise<WireAnswer>
  /** Splits a pkrange as another user of the store would. */
  split(container: Container, rangeId: string): Promise<void>
  close(): Promise<void>
}

export interface InteropOptions {
  readonly openEngine?: ((clock: SteppedClock) => Promise<StorageEngine>) | undefined
  readonly gateway?: Partial<StartGatewayOptions> | undefined
}

export async function openInterop({
  openEngine = async (clock) => openMemoryEngine({ clock }),
  gateway: options,
}: InteropOptions = {}): Promise<Interop> {
  // A whole second near the machine's: what the client reads from its own clock lies near the store's.
  const clock = new SteppedClock(Math.floor(systemClock.wallMs() / 1000) * 1000)
  const store = await Store.open({ engine: await openEngine(clock), maintenance: 'manual' })
  const failures: GatewayFailure[] = []
  const gateway = await startGateway({
    store,
    keys: { readWrite: [KEY], readOnly: [READ_ONLY_KEY] },
    port: 0,
    stopTimeoutMs: 1000,
    onFailure: (failure) => failures.push(failure),
    ...options,
  })
  const clients: CosmosClient[] = []
  const connect = (more: Partial<CosmosClientOptions> = {}): CosmosClient => {
    const client = new CosmosClient({ endpoint: gateway.endpoint, key: KEY, ...more })
    clients.push(client)
    return client
  }
  const client = connect()
  const { database } = await client.databases.create({ id: 'interop' })
  let made = 0
  return {
    store,
    gateway,
    client,
    database,
    clock,
    failures,
    connect,
    container: async (definition = {}) => {
      const id = `container-${++made}`
      const partitionKey = { paths: ['/pk'], version: 2 }
      return (await database.containers.create({ id, partitionKey, ...definition })).container
    },
    send: (request) => sendSigned(gateway.endpoint, KEY, request),
    split: async (container, rangeId) => {
      await store.database(container.database.id).collection(container.id).split(rangeId)
    },
    close: async () => {
      for (const open of clients) open.dispose()
      await gateway.stop()
      await store.close()
      expect(failures).toEqual([])
    },
  }
}

/** The error that a call ends with; a call that succeeds fails the test. */
export async function refusal(call: Promise<unknown>): Promise<ErrorResponse> {
  try {
    await call
  } catch (error) {
    if (error instanceof ErrorResponse) return error
    // Batch and bulk wrap what they were answered.
    if (error instanceof Error && error.cause instanceof ErrorResponse) return error.cause
    throw error
  }
  throw new Error('the call was not refused')
}

/** Everything that a pull iterator has until its first 304. */
export async function drain<T>(feed: ChangeFeedPullModelIterator<T>): Promise<T[]> {
  const items: T[] = []
  for (;;) {
    const page = await feed.readNext()
    if (page.statusCode === 304) return items
    // A poll without news is 304, never an empty 200, which a reader would ask about for ever.
    expect(page.count).toBeGreaterThan(0)
    items.push(...page.result)
  }
}

/** The sizes of all pages, and everything in them. */
export async function pagesOf<T>(
  iterator: QueryIterator<T>,
): Promise<{ readonly sizes: readonly number[]; readonly items: readonly T[] }> {
  const sizes: number[] = []
  const items: T[] = []
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext()
    // The client's types do not say that a page may be without a list.
    const page: readonly T[] = (resources as readonly T[] | undefined) ?? []
    sizes.push(page.length)
    items.push(...page)
  }
  return { sizes, items }
}

export function idsOf(items: readonly { readonly id?: string | undefined }[]): string[] {
  return items.map(({ id }) => id ?? '')
}

/** As `idsOf`, for comparisons where order means nothing. */
export function sortedIds(items: readonly { readonly id?: string | undefined }[]): string[] {
  return idsOf(items).toSorted()
}

/** The path of a container, below the endpoint. */
export function pathOf(container: Container): string {
  return `dbs/${container.database.id}/colls/${container.id}`
}
