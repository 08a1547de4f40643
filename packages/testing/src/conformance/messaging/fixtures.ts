import { errorCode, systemClock, type Clock } from '@tidemark/contracts'
import {
  openMessaging,
  type MessageBroker,
  type NamespaceOptions,
  type QueueOptions,
  type SubscriptionOptions,
  type TopicOptions,
} from '@tidemark/messaging'
import type { Database, Store } from '@tidemark/store'
import { SeededRandom } from '../../simulation/time/seeded-random.ts'
import type { SimulatedClock } from '../../simulated-clock.ts'
import type { CountedCalls } from './counted-engine.ts'
import type {
  ConnectedClient,
  EntityName,
  MessagingClient,
  MessagingDriver,
} from './messaging-client.ts'
import { TestedEntity } from './tested-entity.ts'

/** One store, opened on storage of its own. */
export interface MessagingStore {
  readonly store: Store
  /** Opens the same data, beside `store` or after it was closed. Required iff `supports.durable`. */
  readonly openAgain?: (() => Promise<Store>) | undefined
  /** Closes what is open and removes the data. */
  dispose(): Promise<void>
}

export interface MessagingConformance {
  readonly name: string
  /** How cases reach entities. With one, only what it can do is run. @default the broker itself */
  readonly driver?: MessagingDriver | undefined
  /** Opens a store on storage of its own. `clock` must be its clock, and that of all that `openAgain` opens. */
  open(options: { readonly clock: Clock }): Promise<MessagingStore>
}

/** Opens a namespace for one test. */
export type OpenNamespace = (options?: NamespaceOptions) => Promise<TestedNamespace>

/** What a family of cases is run with. */
export interface CaseParts {
  readonly open: OpenNamespace
  /** On a store of its own, for a case that closes it or sets the clock back. */
  readonly openAlone: OpenNamespace
  /** A client of another protocol is before the broker, and `test.skipIf` leaves out what it cannot say or wait for. */
  readonly isByClient: boolean
}

/** A queue, and a subscription that gets everything that its topic gets: whatever receives does it in both. */
export type ReceivingKind = 'queue' | 'subscription'
export const BOTH: readonly ReceivingKind[] = ['queue', 'subscription']

/** Low enough for the scenarios, which are about seconds. */
const LIMITS = {
  minAutoDeleteOnIdle: 1,
  minLockDuration: 1,
  minDuplicateDetectionHistoryTimeWindow: 1,
}

const DATABASE = 'shop'

/** A day, which is longer than any test lasts. */
export const DAY_MS = 86_400_000

/** The clock of a store: its wall time is simulated. Its engine's own pauses are the machine's, as its disk is. */
export function storeClockOf(simulated: SimulatedClock): Clock {
  return {
    wallMs: () => simulated.wallMs(),
    monotonicMs: () => simulated.monotonicMs(),
    sleep: (delayMs, signal, options) => systemClock.sleep(delayMs, signal, options),
  }
}

/** What a namespace is opened with. */
export interface NamespaceParts {
  readonly clock: SimulatedClock
  readonly calls: CountedCalls
  readonly options: NamespaceOptions
  readonly driver: MessagingDriver | undefined
}

/** A namespace under test, with a clock that passes only when the test says so. */
export class TestedNamespace {
  readonly clock: SimulatedClock
  readonly #under: MessagingStore
  readonly #calls: CountedCalls
  readonly #options: NamespaceOptions
  readonly #stores: Store[]
  readonly #brokers: MessageBroker[] = []
  #startMs: number
  #broker: MessageBroker
  #connected: ConnectedClient | undefined

  private constructor(under: MessagingStore, { clock, calls, options }: NamespaceParts) {
    this.clock = clock
    this.#under = under
    this.#calls = calls
    this.#options = options
    this.#stores = [under.store]
    this.#startMs = clock.wallMs()
    this.#broker = this.secondBroker()
  }

  /** A namespace without entities. Those of an earlier test are deleted. */
  static async open(under: MessagingStore, parts: NamespaceParts): Promise<TestedNamespace> {
    const database = await under.store.createDatabaseIfNotExists(DATABASE)
    await using broker = openMessaging(parts.calls.database(database), { clock: parts.clock })
    for (const { name } of await broker.listQueues()) await broker.deleteQueue(name)
    for (const { name } of await broker.listTopics()) await broker.deleteTopic(name)
    const namespace = new TestedNamespace(under, parts)
    namespace.#connected = await parts.driver?.connect(namespace.broker)
    return namespace
  }

  get broker(): MessageBroker {
    return this.#broker
  }

  /** T+0 of `at`, epoch ms. */
  get startMs(): number {
    return this.#startMs
  }

  get store(): Store {
    return this.#stores.at(-1) ?? this.#under.store
  }

  /** Where the namespace is, for documents. */
  get database(): Database {
    return this.store.database(DATABASE)
  }

  /** Makes now T+0. */
  start(): void {
    this.#startMs = this.clock.wallMs()
  }

  /** Lets time pass until T+`ms`. */
  async at(ms: number): Promise<void> {
    await this.pass(this.#startMs + ms - this.clock.wallMs())
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms)
    await this.#calls.settled()
  }

  /** What a call answers for which up to `ms` must pass. */
  async during<Result>(call: Promise<Result>, ms: number): Promise<Result> {
    // A rejection is the caller's to see, after the time.
    void call.catch(() => undefined)
    await this.pass(ms)
    return call
  }

  /** Resolves when nothing happens any more until time passes. */
  settled(): Promise<void> {
    return this.#calls.settled()
  }

  async queue(name: string, options: QueueOptions = {}): Promise<TestedEntity> {
    await this.#broker.createQueue(name, options)
    return this.entity(name)
  }

  async topic(name: string, options: TopicOptions = {}): Promise<TestedEntity> {
    await this.#broker.createTopic(name, options)
    return this.entity(name)
  }

  async subscription(
    topic: string,
    subscription: string,
    options: SubscriptionOptions = {},
  ): Promise<TestedEntity> {
    await this.#broker.createSubscription({ topic, subscription }, options)
    return this.entity({ topic, subscription })
  }

  /** A queue `q`, or the subscription `s` of a topic `t`. */
  async receiving(
    kind: ReceivingKind,
    options: QueueOptions & SubscriptionOptions = {},
  ): Promise<TestedEntity> {
    if (kind === 'queue') return this.queue('q', options)
    await this.topic('t')
    return this.subscription('t', 's', options)
  }

  /** An entity, through this broker or the client of the driver. */
  entity(name: EntityName): TestedEntity {
    return new TestedEntity(name, {
      broker: this.#broker,
      client: this.#client,
      settled: () => this.settled(),
    })
  }

  get #client(): MessagingClient {
    return this.#connected?.client ?? this.#broker
  }

  /** One more broker on the same store, as another part of the program would open it. */
  secondBroker(): MessageBroker {
    return this.#openBroker(this.store)
  }

  /** Whether what is here outlives the store. */
  get isDurable(): boolean {
    return this.store.supports.durable
  }

  /** A broker on a store of its own over the same data, as another process would open it; if the engine can. */
  async brokerElsewhere(): Promise<MessageBroker> {
    if (this.store.supports.processes === 'single') return this.secondBroker()
    const store = await this.#openAgain()
    this.#stores.unshift(store)
    return this.#openBroker(store)
  }

  /** Closes the brokers and the store, until `restart`. A `TestedEntity` from before is of no use then. */
  async stop(): Promise<void> {
    await this.#closeBrokers()
    for (const store of this.#stores) await store.close()
  }

  /** Closes the store under brokers that are at work, as near to a kill as a test in one process comes. */
  async stopNow(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
    await Promise.allSettled(this.#brokers.map((broker) => broker.close()))
  }

  async restart(): Promise<void> {
    this.#stores.push(await this.#openAgain())
    this.#broker = this.secondBroker()
  }

  async close(): Promise<void> {
    await this.#connected?.[Symbol.asyncDispose]()
    await this.#closeBrokers()
    for (const store of this.#stores) if (store !== this.#under.store) await store.close()
  }

  #openBroker(store: Store): MessageBroker {
    const broker = openMessaging(this.#calls.database(store.database(DATABASE)), {
      limits: LIMITS,
      ...this.#options,
      clock: this.clock,
      random: new SeededRandom(this.#brokers.length + 1),
    })
    this.#brokers.push(broker)
    return broker
  }

  #openAgain(): Promise<Store> {
    const { openAgain } = this.#under
    if (openAgain === undefined) throw new Error('a durable engine needs `openAgain`')
    return openAgain()
  }

  async #closeBrokers(): Promise<void> {
    for (const broker of this.#brokers) await broker.close()
  }
}

/** Code of what a promise rejects with; `none` if it does not. */
export async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return errorCode(error) ?? String(error)
  }
  return 'none'
}
