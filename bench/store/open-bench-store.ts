import { join } from 'node:path'
import type { Clock } from '@tidemark/contracts'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import {
  Store,
  type Collection,
  type CollectionOptions,
  type MaintenanceMode,
  type StorageEngine,
} from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'

/** Ranges of the orders, as many as the prototype has segments. */
export const PARTITION_COUNT = 4
export const DATABASE = 'shop'

/** The store that every scenario measures: orders, and beside them the leases of their readers. */
export interface BenchStore extends AsyncDisposable {
  readonly orders: Collection<OrderDocument>
  readonly leases: Collection
  close(): Promise<void>
}

/**
 * Opens the store in a folder, beside what the limits keep there, or in the PostgreSQL database of a URL, and makes
 * what is missing. Any number of processes may open one.
 */
export async function openBenchStore(place: string): Promise<BenchStore> {
  const store = await openStoreIn(place)
  const orders = await ordersIn(store, { id: 'orders' })
  const leases = await store.database(DATABASE).createCollectionIfNotExists({
    id: 'leases',
    partitionKey: '/partitionKey',
  })
  return { orders, leases, close: () => store.close(), [Symbol.asyncDispose]: () => store.close() }
}

/** The store's own folder in a scenario's. */
export function storeFolder(place: string): string {
  return join(place, 'store')
}

export interface OpenStoreOptions {
  /** @default the store's own default: in the background */
  readonly maintenance?: MaintenanceMode | undefined
  /** What documents expire by. @default the machine's */
  readonly clock?: Clock | undefined
}

/** The store itself, for scenarios with collections of their own. */
export async function openStoreIn(
  place: string,
  { maintenance, clock }: OpenStoreOptions = {},
): Promise<Store> {
  const engine = await openEngine(place, clock)
  return Store.open({ engine, maintenance })
}

async function openEngine(place: string, clock: Clock | undefined): Promise<StorageEngine> {
  if (!place.startsWith('postgres:')) {
    return openSqliteEngine({ folder: storeFolder(place), clock })
  }
  // Loaded when needed: the memory of a worker process on SQLite is a figure, without a driver for PostgreSQL in it.
  const { openPostgresEngine } = await import('@tidemark/engine-postgres')
  // The server has no clock that could be moved on.
  const storeTime = clock === undefined ? 'server' : 'process'
  return openPostgresEngine({ url: place, clock, storeTime })
}

/** A collection of orders, made unless it is there; with the prototype's number of ranges unless given. */
export async function ordersIn(
  store: Store,
  options: Omit<CollectionOptions, 'partitionKey'>,
): Promise<Collection<OrderDocument>> {
  return store.database(DATABASE).createCollectionIfNotExists<OrderDocument>({
    partitionCount: PARTITION_COUNT,
    ...options,
    partitionKey: '/customerId',
  })
}
