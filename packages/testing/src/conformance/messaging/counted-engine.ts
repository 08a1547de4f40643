import type { Database } from '@tidemark/store'
import type { MessageEngine } from '@tidemark/store/messages'
import { settle } from '../../platform/settle.ts'

/** Rounds of ready work in which a broker must have asked for what it is going to ask for. */
const BROKER_TURNS = 4

/**
 * Counts the calls that brokers make of the engine, so that a test knows when nothing happens any more until time
 * passes, however long a disk or a server takes.
 */
export class CountedCalls {
  readonly #turns: number
  #open = 0
  #changed: PromiseWithResolvers<void> = Promise.withResolvers()

  /** `turns`: rounds of ready work in which a client must have asked, too, if there is one before the broker. */
  constructor(turns: number = BROKER_TURNS) {
    this.#turns = turns
  }

  /** The same database, whose engine of messages counts. */
  database(database: Database): Database {
    return new Proxy(database, {
      get: (target, key) => {
        if (key === 'openMessages') {
          return async () => this.#engine(await this.#count(target.openMessages()))
        }
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        // Its methods use private fields, which the proxy does not have.
        return (...values: unknown[]): unknown => Reflect.apply(value, target, values)
      },
    })
  }

  /** Resolves when no call is on its way, and none follows without time passing. */
  async settled(): Promise<void> {
    for (;;) {
      await settle(this.#turns)
      if (this.#open === 0) return
      await this.#changed.promise
    }
  }

  #engine(engine: MessageEngine): MessageEngine {
    return {
      readCatalog: () => this.#count(engine.readCatalog()),
      perform: (command, time) => this.#count(engine.perform(command, time)),
      look: (entities) => this.#count(engine.look(entities)),
      lookSessions: (entity, sessions) => this.#count(engine.lookSessions(entity, sessions)),
      watch: (listener) => engine.watch(listener),
      nowMs: () => engine.nowMs(),
    }
  }

  async #count<Result>(call: Promise<Result>): Promise<Result> {
    this.#open++
    try {
      return await call
    } finally {
      this.#open--
      this.#changed.resolve()
      this.#changed = Promise.withResolvers()
    }
  }
}
