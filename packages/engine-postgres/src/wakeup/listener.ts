import { openListener } from '../connection/platform/open-listener.ts'
import type {
  ListeningClient,
  PostgresNotification,
  PostgresPool,
} from '../connection/postgres-pool.ts'

export interface ListenerPlace {
  /** A URL, or a pool that gives one connection away permanently. */
  readonly from: string | PostgresPool
  readonly connectTimeoutMs: number
  readonly applicationName: string
}

/** One connection that receives notifications, from start to end. */
export class Listener {
  readonly #place: ListenerPlace
  readonly #onNotification: (message: PostgresNotification) => void
  readonly #lost = Promise.withResolvers<never>()
  #client: ListeningClient | undefined
  #end: (() => Promise<void>) | undefined

  constructor(place: ListenerPlace, onNotification: (message: PostgresNotification) => void) {
    this.#place = place
    this.#onNotification = onNotification
    // Callers that wait get the error; it does not need a handler.
    this.#lost.promise.catch(() => {})
  }

  /** Rejects when the connection is gone. */
  get lost(): Promise<never> {
    return this.#lost.promise
  }

  /** The session's number as reported when the connection was made. */
  get processId(): number | null | undefined {
    return this.#client?.processID
  }

  async connect(): Promise<void> {
    const { from } = this.#place
    if (typeof from === 'string') {
      const client = openListener(from, this.#place)
      this.#end = () => client.end()
      this.#hear(client)
      await client.connect()
    } else {
      const connected = from.connect()
      // Ended, not returned, because it listens. One that arrives after the end must be ended here too.
      this.#end = async () => (await connected).release(true)
      this.#hear(await connected)
    }
  }

  /** Resolves with the first column of the first row. */
  async query(text: string): Promise<string | null | undefined> {
    const types = {
      getTypeParser:
        () =>
        (value: string): string =>
          value,
    }
    const answer = await this.#client?.query({ text, rowMode: 'array', types })
    return Array.isArray(answer) ? undefined : answer?.rows[0]?.[0]
  }

  /** Never rejects. */
  async end(): Promise<void> {
    await this.#end?.().catch(() => {})
  }

  #hear(client: ListeningClient): void {
    this.#client = client
    client.on('error', (error) => this.#lost.reject(error))
    client.on('end', () => this.#lost.reject(new Error('the listening connection ended')))
    client.on('notification', this.#onNotification)
  }
}
