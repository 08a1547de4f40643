/*
 * What examples use without declaring it, because their pages have introduced it. Whole programs (`ts run`) get none of it.
 */
import type {
  Change,
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  Clock,
  Collection,
  Database,
  IChangeFeedObserver,
  LeaseStore,
  ProcessorGroup,
  StorageEngine,
  Store,
} from 'tidemark'
import type { CosmosConnection, CosmosDocumentCollection } from '@tidemark/gateway/client'
import type { LeaseStoreUnderTest, StorageEngineUnderTest } from '@tidemark/testing/conformance'

declare global {
  interface Order {
    readonly id: string
    readonly customerId: string
    // oxlint-disable-next-line typescript/no-explicit-any -- required in one guide, absent in others
    readonly customer?: any
    readonly total?: number
  }
  interface Session {
    readonly id: string
    readonly user: string
    readonly ttl?: number
  }
  interface User {
    readonly id: string
    readonly tenant: string
    readonly mail: string
    readonly name: { readonly first: string; readonly last: string }
  }

  const store: Store & LeaseStore
  const shop: Database
  const orders: Collection<Order>
  const sessions: Collection<Session>
  const users: Collection<Session & { readonly name?: string; readonly code?: string }>
  const source: Collection<Order>
  const leaseCollection: Collection
  const leases: LeaseStore & CosmosDocumentCollection
  const host: ChangeFeedProcessorHost<Order>
  const group: ProcessorGroup
  const held: readonly { readonly leaseId: string }[]
  const estimator: ChangeFeedEstimator
  const connection: CosmosConnection
  const endpoint: string
  const key: string
  const accountKey: string
  const folder: string
  const coldFolder: string
  const signal: AbortSignal
  const continuation: string
  const quietSince: number
  const logBegan: Date
  const view: Map<string, unknown>
  const log: unknown[]
  const rows: unknown[]
  const found: string[]
  const operations: string[]

  const mirror: IChangeFeedObserver<Order> & ((order: Order) => Promise<void>)
  class Mirror implements IChangeFeedObserver<Order> {
    processChanges: IChangeFeedObserver<Order>['processChanges']
  }
  function report(line: unknown): void
  function maintain(): Promise<void>
  function remember(continuation: string): Promise<void>
  function analyse(order: Order, language: string): object
  function index(analysis: object): Promise<void>
  function inOneTransaction(changes: readonly Change<Order>[]): Promise<void>

  const pino: (typeof import('pino'))['pino']
  const test: (typeof import('vitest'))['test']
  const expect: (typeof import('vitest'))['expect']
  class PointsDatabase {
    points(customer: string): number
  }
  class PointsObserver implements IChangeFeedObserver<Order> {
    constructor(request: unknown)
    processChanges: IChangeFeedObserver<Order>['processChanges']
  }
  function randomOrders(random: unknown): Order[]
  function pointsOf(customer: string, changes: unknown): number

  const other: LeaseStoreUnderTest['other']
  const time: LeaseStoreUnderTest['time']
  const close: LeaseStoreUnderTest['close']
  const reopen: StorageEngineUnderTest['reopen']
  const openSecond: StorageEngineUnderTest['openSecond']
  const dispose: StorageEngineUnderTest['dispose']
  function openMine(options: { readonly clock: Clock }): Promise<StorageEngine>
}
