import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openDeadLetters,
  openStore,
  type Change,
  type IChangeFeedObserver,
} from 'tidemark'
import type { Order, WorkerOptions } from './worker-process.ts'

// A worker in a process of its own, to be killed. `WorkerProcess` is the only caller.
const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions

class Observer implements IChangeFeedObserver<Order> {
  async processChanges(_context: unknown, changes: readonly Change<Order>[]): Promise<void> {
    const poison = changes.find((change) => change.kind === 'document' && change.document.total < 0)
    if (poison !== undefined) throw new TypeError(`order ${poison.id} has a negative total`)
  }
}

const store = await openStore({ folder: options.folder, maintenance: 'manual' })
const shop = store.database('shop')
const host = new ChangeFeedProcessorHost<Order>({
  hostName: options.name,
  group: options.group,
  feed: shop.collection<Order>('orders'),
  leases: new DocumentLeaseStore(shop.collection('leases')),
  logger: false,
  ...(options.failurePolicy === 'deadLetter' && {
    deadLetters: await openDeadLetters(shop, 'orders'),
  }),
  feedOptions: { startFromBeginning: true },
  hostOptions: {
    failurePolicy: { mode: options.failurePolicy, maxAttempts: 2 },
    retryDelayMs: 20,
    retryMaxDelayMs: 50,
    leaseRenewIntervalMs: 500,
    leaseExpirationIntervalMs: 2_000,
    leaseAcquireIntervalMs: 500,
    maxPartitionCount: options.maxRanges,
  },
})
process.once('SIGTERM', () => void host.unregisterObservers().then(() => store.close()))
host.once('leaseAcquired', () => console.log('ready'))
await host.registerObserver(Observer)
