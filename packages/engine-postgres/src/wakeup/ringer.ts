import type { Clock } from '@tidemark/contracts'
import type { Connections } from '../connection/connections.ts'
import type { Statement } from '../connection/sql.ts'
import { ringPayload } from './ring-payload.ts'
import type { Touched, TouchedEntity, TouchedRange } from './touched-range.ts'

export interface RingerOptions {
  readonly connections: Pick<Connections, 'read'>
  readonly channel: string
  /** Names this process, without a colon: its own doorbell ignores it. @default none */
  readonly origin?: string | undefined
  readonly clock: Clock
}

/** A notification takes a lock that all databases of the server share (decision 0021, rule 5). */
const PAUSE_MS = 2
/** How long a notification that is not urgent waits for others to go with. */
const LATER_MS = 10
/** Other processes use the list only while it is short. */
const MOST_NAMES = 1_000

/**
 * A statement of its own, after the commits that it reports. Inside of them it would hold the server's lock for
 * notifications while they wait for the disk. A transaction without other statements does not wait for the disk.
 */
const NOTIFY: Statement = {
  name: 'tidemark_notify',
  text: `SELECT pg_notify($1, $2)`,
}

/**
 * Notifies other processes of commits, at most once every 2 ms; commits in between are reported together. A
 * notification that cannot be sent is lost: readers also poll.
 */
export class Ringer {
  readonly #options: RingerOptions
  readonly #stop = new AbortController()
  #ranges = new Map<string, TouchedRange>()
  #entities = new Map<number, TouchedEntity>()
  #everything = false
  #isUrgent = false
  #hurry: AbortController | undefined
  #ringing: Promise<void> | undefined

  constructor(options: RingerOptions) {
    this.#options = options
  }

  /** Never fails. `isUrgent` false: of what nobody waits for that soon. */
  ring(touched: Touched, { isUrgent = true }: { readonly isUrgent?: boolean } = {}): void {
    if (this.#stop.signal.aborted) return
    if (touched === 'anything') this.#everything = true
    else {
      for (const each of touched.ranges) this.#add(each)
      for (const each of touched.entities) this.#addEntity(each)
      if (this.#ranges.size + this.#entities.size > MOST_NAMES) this.#everything = true
    }
    if (isUrgent) {
      this.#isUrgent = true
      this.#hurry?.abort()
    }
    this.#ringing ??= this.#run()
  }

  /** Resolves when all notifications have been sent or given up. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#ringing
  }

  async #run(): Promise<void> {
    const { connections, channel, origin = '', clock } = this.#options
    while (this.#everything || this.#ranges.size + this.#entities.size > 0) {
      if (!this.#isUrgent) await this.#untilUrgent()
      this.#isUrgent = false
      const nextMs = clock.monotonicMs() + PAUSE_MS
      const touched: Touched = this.#everything
        ? 'anything'
        : { ranges: [...this.#ranges.values()], entities: [...this.#entities.values()] }
      const payload = ringPayload({ origin, touched })
      this.#everything = false
      this.#ranges = new Map()
      this.#entities = new Map()
      try {
        await connections.read(NOTIFY, [channel, payload])
        const leftMs = nextMs - clock.monotonicMs()
        // A timer for a fraction of a millisecond ends early.
        if (leftMs > 0) await clock.sleep(Math.ceil(leftMs), this.#stop.signal)
      } catch {
        // The server is away, and so are the connections of its listeners; or this was stopped.
      }
    }
    this.#ringing = undefined
  }

  async #untilUrgent(): Promise<void> {
    const hurry = new AbortController()
    this.#hurry = hurry
    const signal = AbortSignal.any([hurry.signal, this.#stop.signal])
    await this.#options.clock.sleep(LATER_MS, signal).catch(() => {})
    this.#hurry = undefined
  }

  #add(touched: TouchedRange): void {
    const key = `${touched.collection}/${touched.range}`
    const before = this.#ranges.get(key)
    if (before === undefined || before.lsn < touched.lsn) this.#ranges.set(key, touched)
  }

  #addEntity(touched: TouchedEntity): void {
    const before = this.#entities.get(touched.entity)?.returned
    const numbers = [before, touched.returned].filter((number) => number !== undefined)
    const returned = numbers.length === 0 ? undefined : Math.min(...numbers)
    this.#entities.set(touched.entity, { entity: touched.entity, returned })
  }
}
