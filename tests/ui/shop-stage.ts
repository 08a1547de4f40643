import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { createDashboard, openStore, type DashboardOptions, type Store } from 'tidemark'
import { serveRequests } from '@tidemark/gateway'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { WorkerProcess, type Order, type WorkerOptions } from './worker-process.ts'

export interface ServedPage {
  readonly address: string
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A store in a folder with orders, workers in processes of their own, queues, and the page of all that. */
export class ShopStage implements AsyncDisposable {
  readonly folder: string
  readonly store: Store
  readonly broker: MessageBroker
  readonly #resources = new AsyncDisposableStack()

  private constructor(folder: string, store: Store) {
    this.folder = folder
    this.store = store
    this.broker = this.#resources.use(openMessaging(store.database('shop')))
  }

  static async open(): Promise<ShopStage> {
    await buildDashboard()
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-ui-'))
    const store = await openStore({ folder, maintenance: 'manual' })
    const shop = store.database('shop')
    await shop.createCollectionIfNotExists<Order>({
      id: 'orders',
      partitionKey: '/customerId',
      partitionCount: 4,
    })
    await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
    return new ShopStage(folder, store)
  }

  get orders() {
    return this.store.database('shop').collection<Order>('orders')
  }

  async writeOrders(count: number, total = 1): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const id = `${total < 0 ? 'bad' : 'o'}${n}`
      await this.orders.upsert({ id, customerId: `c${n % 40}`, total: total * (n + 1) })
    }
  }

  /** A range is split twice, and two of the halves are merged. */
  async splitOrders(): Promise<void> {
    const { ranges } = await this.orders.readPartitionKeyRanges()
    const halves = await this.orders.split(ranges[0]?.id ?? '')
    const quarters = await this.orders.split(halves[1].id)
    await this.orders.merge(halves[0].id, quarters[0].id)
  }

  /** Some that never expire, some that do, and some that have. */
  async fillSessions(): Promise<void> {
    const sessions = await this.store.database('shop').createCollectionIfNotExists<{
      readonly id: string
      readonly ttl?: number
    }>({ id: 'sessions', partitionKey: '/id', defaultTtl: 3_600 })
    for (let n = 0; n < 12; n += 1) await sessions.upsert({ id: `s${n}`, ttl: n < 4 ? 1 : 60 * n })
    await sessions.addWaitingGroup('archive')
  }

  /** Those that were to expire have become pending deletes. */
  async sweepSessions(): Promise<void> {
    const sessions = this.store.database('shop').collection('sessions')
    while ((await sessions.readExpiry()).pendingDeletes < 4) {
      await sleep(50)
      await this.store.runMaintenance()
    }
  }

  async fillQueues(): Promise<void> {
    const { broker } = this
    await broker.createQueue('mails', { maxDeliveryCount: 3 })
    await using mails = broker.createSender('mails')
    await mails.sendMessages(
      Array.from({ length: 8 }, (_, n) => ({
        subject: 'hello',
        body: { to: `c${n}@example.org` },
      })),
    )
    await mails.scheduleMessages({ body: 'later' }, new Date(Date.now() + 3_600_000))
    await using receiver = broker.createReceiver('mails')
    for (const message of await receiver.receiveMessages(2, { maxWaitTimeInMs: 1_000 })) {
      const deadLetterErrorDescription = 'no such address'
      await receiver.deadLetterMessage(message, {
        deadLetterReason: 'bounced',
        deadLetterErrorDescription,
      })
    }
    await broker.createQueue('visits', { requiresSession: true })
    await using visits = broker.createSender('visits')
    await visits.sendMessages(['ann', 'bob'].map((sessionId) => ({ sessionId, body: 'came' })))
    await broker.createTopic('news')
    await broker.createSubscription({ topic: 'news', subscription: 'audit' })
    await using news = broker.createSender('news')
    await news.sendMessages([{ subject: 'one', body: 1 }])
  }

  async startWorker(options: Omit<WorkerOptions, 'folder'>): Promise<WorkerProcess> {
    return this.#resources.use(await WorkerProcess.start({ folder: this.folder, ...options }))
  }

  /** The address of a page, of which there may be several. */
  async serve(options: Partial<DashboardOptions> = {}): Promise<string> {
    const { address, stop } = await this.serveOnce(0, options)
    this.#resources.defer(stop)
    return address
  }

  /** One that is stopped before the stage is. */
  async serveOnce(port = 0, options: Partial<DashboardOptions> = {}): Promise<ServedPage> {
    const host = '127.0.0.1'
    const dashboard = createDashboard({ host, sampleMs: 500, ...options, store: this.store })
    const served = await serveRequests({ host, port, answer: dashboard.fetch })
    const url = new URL(options.basePath ?? '/', served.endpoint)
    return {
      address: url.href,
      port: Number(url.port),
      stop: async () => {
        await dashboard.close()
        await served.stop()
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync()
    await this.store.close()
    await rm(this.folder, { recursive: true, force: true })
  }
}
