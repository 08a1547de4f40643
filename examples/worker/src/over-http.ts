import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
} from '@tidemark/gateway/client'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from 'tidemark'

// The same on a machine without the store: changes and leases come over HTTP, from `tidemark serve` on the machine that has it.

interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

const { TIDEMARK_GATEWAY_KEY, TIDEMARK_URL = 'http://127.0.0.1:8081/', WORKER } = process.env
if (TIDEMARK_GATEWAY_KEY === undefined) throw new Error('TIDEMARK_GATEWAY_KEY is not set')

const connection = new CosmosConnection({ endpoint: TIDEMARK_URL, key: TIDEMARK_GATEWAY_KEY })
const leases = new CosmosDocumentCollection(connection, { database: 'shop', container: 'leases' })
const host = new ChangeFeedProcessorHost<Order>({
  hostName: WORKER,
  group: 'print-orders-elsewhere',
  feed: await openChangeFeed<Order>(connection, { database: 'shop', container: 'orders' }),
  leases: new DocumentLeaseStore(leases), // the container is created if it is missing
  feedOptions: { startFromBeginning: true, mode: 'latestVersion' },
})
const ended = new Promise<unknown>((resolve) => {
  process.once('SIGTERM', () => resolve(undefined))
  process.once('SIGINT', () => resolve(undefined))
  host.on('stopped', ({ error }) => resolve(error))
})

await host.registerObserver((context, changes) => {
  for (const change of changes) {
    context.signal.throwIfAborted()
    if (change.kind === 'document') console.log(JSON.stringify(change.document))
  }
})
console.error('ready')
if ((await ended) !== undefined) process.exitCode = 1
await host.unregisterObservers()
