import { once } from 'node:events'
import { setImmediate, setInterval, setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type Connection } from 'pg'
import { pgoutputMessage, standbyStatus } from './pgoutput-messages.ts'

const PUBLICATION = 'outbox_inserts'
/** Kinds of stream messages: data, and a sign of life. */
const DATA = 0x77
const KEEPALIVE = 0x6b

/** What `pg` has beyond its declared types: it speaks the streaming protocol, and gives its messages as events. */
interface StreamingConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void
}

export interface SlotStreamOptions {
  readonly slot: string
  readonly pageSize: number
  /** How often the server hears of us without anything to confirm. */
  readonly statusEveryMs: number
  /** Bodies of whole transactions, which are confirmed afterwards. */
  readonly onPage: (bodies: readonly string[]) => void
}

/** The inserts of a logical replication slot, for as long as it runs. */
export class SlotStream implements AsyncDisposable {
  readonly #client: Client
  readonly #connection: StreamingConnection
  readonly #options: SlotStreamOptions
  readonly #closed = new AbortController()
  /** Of the transaction that is coming in. */
  #incoming: string[] = []
  /** Of transactions that are here as a whole, up to `#endLsn`. */
  #complete: string[] = []
  #endLsn = 0n
  #confirmed = 0n
  #isFlushing = false
  #isStreaming = false

  private constructor(client: Client, options: SlotStreamOptions) {
    this.#client = client
    const { connection } = client as Client & { readonly connection: StreamingConnection }
    this.#connection = connection
    this.#options = options
    client.on('error', () => {})
    connection.on('copyData', ({ chunk }: { readonly chunk: Buffer }) => this.#take(chunk))
    connection.on('replicationStart', () => (this.#isStreaming = true))
  }

  static async connect(url: string, options: SlotStreamOptions): Promise<SlotStream> {
    const config: ClientConfig & { replication: 'database' } = {
      connectionString: url,
      replication: 'database',
    }
    const client = new Client(config)
    await client.connect()
    return new SlotStream(client, options)
  }

  get isStreaming(): boolean {
    return this.#isStreaming
  }

  /** Streams once the slot has no other consumer. */
  async run(retryMs: number): Promise<void> {
    const { slot } = this.#options
    const start = `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names '${PUBLICATION}')`
    void this.#sendStatuses()
    while (!this.#closed.signal.aborted) {
      // Answered when streaming ends, or cannot begin.
      await this.#client.query(start).catch(() => {})
      this.#isStreaming = false
      await sleep(retryMs)
    }
  }

  /** Leaves at once: the server would stream on first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
    const { stream } = this.#connection
    const closed = once(stream, 'close')
    stream.destroy()
    await closed
  }

  #take(chunk: Buffer): void {
    this.#isStreaming = true
    if (chunk[0] === KEEPALIVE && chunk[17] === 1) this.#sendStatus()
    if (chunk[0] !== DATA) return
    const message = pgoutputMessage(chunk)
    if (message.kind === 'insert') this.#incoming.push(message.columns[1] ?? 'null')
    if (message.kind !== 'commit') return
    this.#endLsn = message.endLsn
    this.#complete.push(...this.#incoming.splice(0))
    if (this.#complete.length >= this.#options.pageSize) this.#flush()
    else if (!this.#isFlushing) void this.#flushAfterTurn()
  }

  /** With whatever transactions have come by then: nobody waits for a page to fill. */
  async #flushAfterTurn(): Promise<void> {
    this.#isFlushing = true
    await setImmediate()
    this.#isFlushing = false
    this.#flush()
  }

  #flush(): void {
    if (this.#closed.signal.aborted || this.#endLsn === this.#confirmed) return
    const bodies = this.#complete.splice(0)
    if (bodies.length > 0) this.#options.onPage(bodies)
    this.#confirmed = this.#endLsn
    this.#sendStatus()
  }

  async #sendStatuses(): Promise<void> {
    const { statusEveryMs } = this.#options
    const { signal } = this.#closed
    try {
      for await (const _ of setInterval(statusEveryMs, undefined, { signal })) {
        if (this.#isStreaming) this.#sendStatus()
      }
    } catch {
      // Closed.
    }
  }

  #sendStatus(): void {
    this.#connection.sendCopyFromChunk(standbyStatus(this.#confirmed))
  }
}
