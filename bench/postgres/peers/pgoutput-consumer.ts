import { once } from 'node:events'
import { Client, type ClientConfig, type Connection } from 'pg'
import { pgoutputMessage, standbyStatus } from './pgoutput-messages.ts'

const BATCH = 1_000

/** What `pg` has beyond its declared types: it speaks the streaming protocol, and gives its messages as events. */
interface StreamingConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void
}

/** The inserts of a logical replication slot, streamed to this process. */
export class PgoutputConsumer implements AsyncDisposable {
  readonly #client: Client
  readonly #connection: StreamingConnection

  private constructor(client: Client) {
    this.#client = client
    const { connection } = client as Client & { readonly connection: StreamingConnection }
    this.#connection = connection
  }

  static async connect(url: string): Promise<PgoutputConsumer> {
    const config: ClientConfig & { replication: 'database' } = {
      connectionString: url,
      replication: 'database',
    }
    const client = new Client(config)
    await client.connect()
    return new PgoutputConsumer(client)
  }

  /**
   * Hands over parsed documents in batches of 1,000 at least, cut at a transaction's end, each confirmed to the
   * server when it was handled, until it had `count`.
   */
  async drain(
    { slot, count }: { readonly slot: string; readonly count: number },
    onBatch: (documents: readonly unknown[]) => void,
  ): Promise<void> {
    let batch: unknown[] = []
    let handled = 0
    const done = Promise.withResolvers<void>()
    this.#connection.on('copyData', ({ chunk }: { readonly chunk: Buffer }) => {
      if (chunk[0] !== 0x77 /* w */) return
      const message = pgoutputMessage(chunk)
      if (message.kind === 'insert') batch.push(JSON.parse(message.columns[1] ?? 'null'))
      if (message.kind !== 'commit') return
      if (batch.length < BATCH && handled + batch.length < count) return
      onBatch(batch)
      handled += batch.length
      batch = []
      this.#connection.sendCopyFromChunk(standbyStatus(message.endLsn))
      if (handled >= count) done.resolve()
    })
    this.#client.on('error', done.reject)
    // Answered when streaming ends, which it does with the connection.
    this.#client
      .query(
        `START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names 'outbox_inserts')`,
      )
      .then(() => done.reject(new Error('the stream ended')), done.reject)
    await done.promise
  }

  /** Leaves at once: the server would stream on first. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { stream } = this.#connection
    const closed = once(stream, 'close')
    stream.destroy()
    await closed
  }
}
