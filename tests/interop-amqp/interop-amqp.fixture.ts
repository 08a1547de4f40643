import { ServiceBusClient, type ServiceBusClientOptions } from '@azure/service-bus'
import { systemClock } from '@tidemark/contracts'
import {
  openMessaging,
  type MessageBroker,
  type NamespaceOptions,
  type QueueOptions,
  type SubscriptionOptions,
  type TopicOptions,
} from '@tidemark/messaging'
import {
  startAmqpServer,
  type AmqpFailure,
  type AmqpServerOptions,
  type RunningAmqpServer,
} from '@tidemark/messaging-amqp'
import type { Database, Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { startTcpProxy, type TcpProxy } from '@tidemark/testing/servers'
import { expect } from 'vitest'
import { ClientEntity } from './client-entity.ts'
import { POLICIES, ROOT, type Credentials } from './credentials.ts'
import { JumpingClock } from './jumping-clock.ts'

/** Bounds low enough for every period that a case names. */
const LIMITS = {
  minAutoDeleteOnIdle: 1,
  minLockDuration: 1,
  minDuplicateDetectionHistoryTimeWindow: 1,
}

export interface ConnectOptions {
  readonly as?: Credentials | undefined
  /** @default that of the first front */
  readonly port?: number | undefined
  readonly client?: ServiceBusClientOptions | undefined
}

/** Without retries: a refusal is seen at once. */
const ONCE = { maxRetries: 0, retryDelayInMs: 100, timeoutInMs: 30_000 }
/** For clients whose connection breaks. */
export const RETRYING = { maxRetries: 20, retryDelayInMs: 100, timeoutInMs: 2000 }

/** A namespace in memory, fronts of it in this process, and the unmodified client. Time jumps when a test says so. */
export class Namespace implements AsyncDisposable {
  readonly clock: JumpingClock
  readonly broker: MessageBroker
  readonly front: RunningAmqpServer
  readonly client: ServiceBusClient
  readonly store: Store
  readonly database: Database
  readonly #options: NamespaceOptions
  readonly #failures: AmqpFailure[]
  readonly #clients: ServiceBusClient[] = []
  readonly #proxies: TcpProxy[] = []
  readonly #others: { readonly broker: MessageBroker; readonly front: RunningAmqpServer }[] = []

  private constructor(parts: {
    readonly clock: JumpingClock
    readonly store: Store
    readonly database: Database
    readonly options: NamespaceOptions
    readonly broker: MessageBroker
    readonly front: RunningAmqpServer
    readonly failures: AmqpFailure[]
  }) {
    this.clock = parts.clock
    this.store = parts.store
    this.database = parts.database
    this.broker = parts.broker
    this.front = parts.front
    this.#options = parts.options
    this.#failures = parts.failures
    this.client = this.connect()
  }

  static async open(options: NamespaceOptions = {}): Promise<Namespace> {
    const clock = new JumpingClock()
    const store = await openMemoryStore({
      clock: {
        wallMs: () => clock.wallMs(),
        monotonicMs: () => clock.monotonicMs(),
        sleep: (delayMs, signal, more) => systemClock.sleep(delayMs, signal, more),
      },
    })
    const database = await store.createDatabaseIfNotExists('shop')
    const failures: AmqpFailure[] = []
    const namespace = { limits: LIMITS, ...options }
    const broker = openMessaging(database, { clock, ...namespace })
    const front = await startFront(broker, failures)
    return new Namespace({ clock, store, database, options: namespace, broker, front, failures })
  }

  /** Another client, which the namespace closes. */
  connect({ as = ROOT, port = this.front.port, client }: ConnectOptions = {}): ServiceBusClient {
    const { name, key } = as
    return this.connectWith(`SharedAccessKeyName=${name};SharedAccessKey=${key}`, { port, client })
  }

  /** Another client, by these parts of a connection string. */
  connectWith(
    secret: string,
    { port = this.front.port, client }: Omit<ConnectOptions, 'as'> = {},
  ): ServiceBusClient {
    const made = new ServiceBusClient(
      `Endpoint=sb://localhost:${port};${secret};UseDevelopmentEmulator=true;`,
      { retryOptions: { ...ONCE }, ...client },
    )
    this.#clients.push(made)
    return made
  }

  /** Another front on the same store, with a broker of its own, as on another machine. */
  async anotherFront(): Promise<RunningAmqpServer> {
    const broker = openMessaging(this.database, { clock: this.clock, ...this.#options })
    const front = await startFront(broker, this.#failures)
    this.#others.push({ broker, front })
    return front
  }

  /** A proxy before the front, whose connections a test can break. */
  async proxy(): Promise<TcpProxy> {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: this.front.port })
    this.#proxies.push(proxy)
    return proxy
  }

  async queue(options: QueueOptions = {}, name = 'orders'): Promise<ClientEntity> {
    await this.broker.createQueue(name, options)
    return this.entity(name)
  }

  async topic(options: TopicOptions = {}, name = 'events'): Promise<ClientEntity> {
    await this.broker.createTopic(name, options)
    return this.entity(name)
  }

  /** Of `events`, which is created if it is not there. */
  async subscription(options: SubscriptionOptions = {}, name = 'billing'): Promise<ClientEntity> {
    const topics = await this.broker.listTopics()
    if (!topics.some((topic) => topic.name === 'events')) await this.broker.createTopic('events')
    await this.broker.createSubscription({ topic: 'events', subscription: name }, options)
    return this.entity('events', name)
  }

  entity(queueOrTopic: string, subscription?: string): ClientEntity {
    return new ClientEntity(this.client, queueOrTopic, subscription)
  }

  /** So long from now by the clock of the store. */
  in(ms: number): Date {
    return new Date(this.clock.wallMs() + ms)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close()
    for (const proxy of this.#proxies) await proxy.stop()
    for (const { front, broker } of this.#others) {
      await front.stop()
      await broker.close()
    }
    await this.front.stop()
    await this.broker.close()
    await this.store.close()
    expect(this.#failures).toEqual([])
  }
}

/** The error that a call ends with; a call that succeeds fails the test. */
export async function refusal(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await call
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const code: unknown = Reflect.get(error, 'code')
    return { code: typeof code === 'string' ? code : error.name, message: error.message }
  }
  throw new Error('the call was not refused')
}

export async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await refusal(call)).code
}

function startFront(broker: MessageBroker, failures: AmqpFailure[]): Promise<RunningAmqpServer> {
  const options: AmqpServerOptions = {
    broker,
    policies: POLICIES,
    port: 0,
    onFailure: (failure) => failures.push(failure),
  }
  return startAmqpServer(options)
}
