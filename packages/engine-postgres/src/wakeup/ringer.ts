import type { Clock } from '@tidemark/contracts'
import type { Connections } from '../connection/connections.ts'
import type { Statement } from '../connection/sql.ts'
import { ringPayload } from './ring-payload.ts'
import type { TouchedRange } from './touched-range.ts'

export interface RingerOptions {
  readonly connections: Pick<Connections, 'read'>
  readonly channel: string
  /** Names this process, without a colon: its own doorbell ignores it. @default none */
  readonly origin?: string | undefined
  readonly clock: Clock
}

/** A notification takes a lock that all databases of the server share (decision 0021, rule 5). */
const PAUSE_MS = 2
/** Other processes use the list of ranges only while it is short. */
const MOST_RANGES = 1_000

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
  #touched = new Map<string, TouchedRange>()
  #everything = false
  #ringing: Promise<void> | undefined

  constructor(options: RingerOptions) {
    this.#options = options
  }

  /** Never fails. No ranges: anything may have changed. */
  ring(touched: readonly TouchedRange[]): void {
    if (this.#stop.signal.aborted) return
    for (const each of touched) this.#add(each)
    if (touched.length === 0 || this.#touched.size > MOST_RANGES) this.#everything = true
    this.#ringing ??= this.#run()
  }

  /** Resolves when all notifications have been sent or given up. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#ringing
  }

  async #run(): Promise<void> {
    const { connections, channel, origin = '', clock } = this.#options
    while (this.#everything || this.#touched.size > 0) {
      const nextMs = clock.monotonicMs() + PAUSE_MS
      const touched = this.#everything ? [] : [...this.#touched.values()]
      const payload = ringPayload({ origin, touched })
      this.#everything = false
      this.#touched = new Map()
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

  #add(touched: TouchedRange): void {
    const key = `${touched.collection}/${touched.range}`
    const before = this.#touched.get(key)
    if (before === undefined || before.lsn < touched.lsn) this.#touched.set(key, touched)
  }
}
