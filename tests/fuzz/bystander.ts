import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServingProcess } from '../gateway/serving-process.ts'
import { sendSigned } from './send-signed.ts'

/** A document that reads are to find. */
export interface BystanderTarget {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** An answer that takes longer hangs, however busy the machine is. */
export const HANG_MS = 60_000
/** Every so many reads go over a connection of their own. */
const NEW_CONNECTION_EVERY = 5
/** A client that has something else to do between its reads. */
const PAUSE_MS = 2

/** Another client, which reads a document over and over: each read takes a moment where nobody is in the way. */
export class Bystander {
  readonly #server: ServingProcess
  readonly #target: BystanderTarget
  readonly #kept = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #readsMs: number[] = []
  readonly #wrong: string[] = []
  readonly #reading: Promise<void>
  #isStopped = false

  constructor(server: ServingProcess, target: BystanderTarget) {
    this.#server = server
    this.#target = target
    this.#reading = this.#readOn()
  }

  /** How long the reads took, in ms, the shortest first; and those that were not answered with the document. */
  async stop(): Promise<{
    readonly readsMs: readonly number[]
    readonly wrong: readonly string[]
  }> {
    this.#isStopped = true
    await this.#reading
    this.#kept.destroy()
    return { readsMs: this.#readsMs.toSorted((a, b) => a - b), wrong: this.#wrong }
  }

  /** Resolves when so many more reads are over, or the server is. */
  async read(count: number): Promise<void> {
    const until = this.#readsMs.length + count
    while (this.#readsMs.length < until && !this.#server.hasEnded) {
      await sleep(PAUSE_MS)
    }
  }

  async #readOn(): Promise<void> {
    for (let n = 0; !this.#isStopped && !this.#server.hasEnded; n++) {
      const once = new Agent()
      const agent = n % NEW_CONNECTION_EVERY === 0 ? once : this.#kept
      const startedMs = performance.now()
      const outcome = await sendSigned(
        { kind: 'signed', method: 'GET', ...this.#target },
        { agent, port: this.#server.port, timeoutMs: HANG_MS },
      )
      this.#readsMs.push(performance.now() - startedMs)
      const isRight = outcome.kind === 'answered' && outcome.status === 200
      if (!isRight) this.#wrong.push(JSON.stringify(outcome))
      once.destroy()
      await sleep(PAUSE_MS)
    }
  }
}

/** The least value that no more than the rest of the values are above; NaN of none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? Number.NaN
}
