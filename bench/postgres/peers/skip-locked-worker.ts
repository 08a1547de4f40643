import { Client } from 'pg'

const BATCH = 1_000

/** The usual worker over a table as a queue: takes rows that nobody else is taking, handles them, commits. */
export class SkipLockedWorker implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async connect(url: string): Promise<SkipLockedWorker> {
    const client = new Client({ connectionString: url })
    await client.connect()
    return new SkipLockedWorker(client)
  }

  /** Hands over documents batch by batch until there are none to take. */
  async drain(onBatch: (documents: readonly unknown[]) => void): Promise<void> {
    for (;;) {
      await this.#client.query('BEGIN')
      const { rows } = await this.#client.query<[string]>({
        name: 'take',
        text: `DELETE FROM outbox WHERE id IN (
          SELECT id FROM outbox ORDER BY id FOR UPDATE SKIP LOCKED LIMIT ${BATCH}) RETURNING body`,
        rowMode: 'array',
      })
      if (rows.length > 0) onBatch(rows.map(([body]): unknown => JSON.parse(body)))
      await this.#client.query('COMMIT')
      if (rows.length === 0) return
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
