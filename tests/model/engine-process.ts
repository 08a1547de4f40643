import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { CodedError, RangeGoneError, type Clock } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import type { DatabaseEngine } from '@tidemark/store/engine'
import type { EngineAnswer, EngineCall, EngineError } from './engine-messages.ts'

interface Waiting {
  readonly resolve: (answer: EngineAnswer) => void
  readonly reject: (error: Error) => void
}

/** A process of its own that opens SQLite folders, one at a time, and does there what the engine here is asked to do. */
export class EngineProcess {
  readonly #child = fork(fileURLToPath(new URL('engine.child.ts', import.meta.url)), {
    execArgv: ['--conditions=@tidemark/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  readonly #exited = once(this.#child, 'exit')
  readonly #waiting = new Map<number, Waiting>()
  readonly #clock: Clock
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#child.on('message', (message) => {
      // From the child, which is of the same version.
      const answer = message as EngineAnswer
      this.#waiting.get(answer.number)?.resolve(answer)
      this.#waiting.delete(answer.number)
    })
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process ended'))
    })
  }

  async open(folder: string): Promise<StorageEngine> {
    const { value } = await this.#call(undefined, 'open', [folder])
    const databases = new Map<string, DatabaseEngine>()
    const own = {
      listen: undefined,
      openDatabase: async (id: string) => {
        const database = databases.get(id) ?? (await this.#openDatabase(id))
        databases.set(id, database)
        return database
      },
      ...(value as Pick<StorageEngine, 'description' | 'storeId' | 'supports'>),
    }
    return remote<StorageEngine>(own, async (method, args) => {
      return (await this.#call(undefined, method, args)).value
    })
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#exited
  }

  async #openDatabase(id: string): Promise<DatabaseEngine> {
    const { value } = await this.#call(undefined, 'openDatabase', [id])
    let toldMs = 0
    let toldAtMs = 0
    const nowMs = (): number => {
      const passedMs = this.#clock.monotonicMs() - toldAtMs
      return Math.max(toldMs + passedMs, this.#clock.wallMs())
    }
    return remote<DatabaseEngine>({ record: value, nowMs }, async (method, args) => {
      const answer = await this.#call(id, method, args)
      toldMs = answer.storeMs
      toldAtMs = this.#clock.monotonicMs()
      return answer.value
    })
  }

  async #call(
    database: string | undefined,
    method: string,
    args: readonly unknown[],
  ): Promise<EngineAnswer> {
    const number = ++this.#calls
    const told = new Promise<EngineAnswer>((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
    })
    const [nowMs, passedMs] = [this.#clock.wallMs(), this.#clock.monotonicMs()]
    this.#child.send({ number, nowMs, passedMs, database, method, args } satisfies EngineCall)
    const answer = await told
    if (answer.error !== undefined) throw errorOf(answer.error)
    return answer
  }
}

/** What `own` does not have is done by the child. */
function remote<Engine extends object>(
  own: object,
  call: (method: string, args: readonly unknown[]) => Promise<unknown>,
): Engine {
  return new Proxy(own, {
    get(target, name): unknown {
      // An engine is resolved with: it must not look like a promise.
      if (name in target || typeof name !== 'string' || name === 'then') {
        return Reflect.get(target, name)
      }
      return (...args: readonly unknown[]) => call(name, args)
    },
  }) as Engine
}

class ChildError extends CodedError {
  readonly code: `ERR_${string}`
  readonly retryable = false

  constructor(code: `ERR_${string}`, message: string) {
    super(message)
    this.code = code
  }
}

function errorOf({ code, message, successors }: EngineError): Error {
  if (successors !== undefined) return new RangeGoneError('of another process', successors)
  return code === undefined ? new Error(message) : new ChildError(code, message)
}
