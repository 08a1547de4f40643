import { Pool, type PoolClient } from 'pg'

/** A pool that counts what is sent through it, so that a test can say where reads went and how many there were. */
export class CountingPool implements AsyncDisposable {
  readonly pool: Pool
  #statements = 0

  constructor(url: string) {
    this.pool = new Pool({ connectionString: url, max: 10 })
    this.pool.on('error', () => {})
    this.pool.on('connect', (client: PoolClient) => {
      const send = client.query.bind(client)
      const query = (...args: Parameters<typeof send>): ReturnType<typeof send> => {
        this.#statements++
        return send(...args)
      }
      Object.assign(client, { query })
    })
  }

  /** Statements since this was last asked. */
  take(): number {
    const count = this.#statements
    this.#statements = 0
    return count
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.end()
  }
}
