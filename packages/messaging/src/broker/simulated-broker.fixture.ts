import { systemClock } from '@tidemark/contracts'
import type { Database } from '@tidemark/store'
import type { MessageCommand, MessageEngine } from '@tidemark/store/messages'
import { openMemoryStore, settle, SimulatedClock } from '@tidemark/testing'
import { openMessaging, type MessageBroker } from './message-broker.ts'
import type { StuckDeadLetters } from './stuck-letters.ts'

/** A broker on a store in memory, whose time passes when the test says so, and whose calls of the engine are noted. */
export class SimulatedBroker implements AsyncDisposable {
  readonly clock: SimulatedClock
  readonly database: Database
  readonly broker: MessageBroker
  readonly stuck: StuckDeadLetters[] = []
  /** Kinds of the commands, and `look`, in their order. */
  readonly calls: string[] = []
  /** Looks reject with it. */
  failure: Error | undefined
  /** Looks have been read, but answer only after it. */
  lateLooks: Promise<void> | undefined
  /** Called when a command was carried out, and has not answered yet. */
  beforeAnswer: ((kind: MessageCommand['kind']) => Promise<void>) | undefined
  readonly #brokers: MessageBroker[] = []
  readonly #close: () => Promise<void>
  #running = 0

  private constructor(clock: SimulatedClock, database: Database, close: () => Promise<void>) {
    this.clock = clock
    this.database = database
    this.#close = close
    this.broker = this.another()
  }

  static async open(): Promise<SimulatedBroker> {
    const clock = new SimulatedClock()
    const store = await openMemoryStore({
      clock: {
        wallMs: () => clock.wallMs(),
        monotonicMs: () => clock.monotonicMs(),
        sleep: (delayMs, signal, options) => systemClock.sleep(delayMs, signal, options),
      },
    })
    const database = await store.createDatabaseIfNotExists('shop')
    return new SimulatedBroker(clock, database, () => store.close())
  }

  /** Another broker over the same store, as another process would have. */
  another(): MessageBroker {
    const broker = openMessaging(this.#noting(this.database), {
      clock: this.clock,
      onStuckDeadLetters: (event) => this.stuck.push(event),
      limits: { minLockDuration: 1, minAutoDeleteOnIdle: 1 },
    })
    this.#brokers.push(broker)
    return broker
  }

  /** Lets time pass, and everything happen that it causes. */
  async pass(ms: number): Promise<void> {
    await this.settled()
    await this.clock.advance(ms)
    await this.settled()
  }

  /** Resolves when no call is on its way, and none follows without time passing. */
  async settled(): Promise<void> {
    do {
      await settle(5)
    } while (this.#running > 0)
  }

  /** What was called since the last time. */
  taken(): readonly string[] {
    return this.calls.splice(0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const broker of this.#brokers) await broker.close()
    await this.#close()
  }

  #noting(database: Database): Database {
    return new Proxy(database, {
      get: (target, key) => {
        if (key === 'openMessages') return async () => this.#engine(await target.openMessages())
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return (...values: unknown[]): unknown => Reflect.apply(value, target, values)
      },
    })
  }

  #engine(engine: MessageEngine): MessageEngine {
    return {
      readCatalog: () => this.#note('readCatalog', engine.readCatalog()),
      perform: async (command, time) => {
        const result = await this.#note(command.kind, engine.perform(command, time))
        await this.beforeAnswer?.(command.kind)
        return result
      },
      look: async (entities) => {
        const late = this.lateLooks
        const read = this.failure ? Promise.reject(this.failure) : engine.look(entities)
        const looks = await this.#note('look', read)
        await late
        return looks
      },
      lookSessions: (entity, sessions) =>
        this.#note('lookSessions', engine.lookSessions(entity, sessions)),
      watch: (listener) => engine.watch(listener),
      nowMs: () => engine.nowMs(),
    }
  }

  async #note<Result>(name: string, call: Promise<Result>): Promise<Result> {
    this.calls.push(name)
    this.#running += 1
    try {
      return await call
    } finally {
      this.#running -= 1
    }
  }
}
