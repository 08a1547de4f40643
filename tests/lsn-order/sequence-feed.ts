import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import {
  rowKey,
  type FeedReader,
  type OrderedFeed,
  type SeenPage,
  type SeenRow,
  type WrittenRow,
} from './ordered-feed.ts'

const POLL_MS = 2

/**
 * What suggests itself: numbers of a sequence in concurrent transactions, and a reader by `lsn > last`. Numbers are
 * given out in one order and become visible in another, so that the reader goes past some for ever. Here to show
 * that this test sees it.
 */
export class SequenceFeed implements OrderedFeed {
  readonly #pool: Pool

  private constructor(pool: Pool) {
    this.#pool = pool
  }

  static async open(url: string): Promise<SequenceFeed> {
    const pool = new Pool({ connectionString: url })
    // Several processes do so at once.
    await pool.query(`SELECT pg_advisory_lock(1);
      CREATE SEQUENCE IF NOT EXISTS naive_lsn;
      CREATE TABLE IF NOT EXISTS naive(lsn int NOT NULL, key text NOT NULL, version int NOT NULL);
      CREATE INDEX IF NOT EXISTS naive_order ON naive(lsn);
      SELECT pg_advisory_unlock(1)`)
    return new SequenceFeed(pool)
  }

  async write(rows: readonly WrittenRow[]): Promise<number> {
    const client = await this.#pool.connect()
    try {
      await client.query('BEGIN')
      const next = await client.query<{ lsn: number }>("SELECT nextval('naive_lsn')::int AS lsn")
      const lsn = next.rows[0]?.lsn ?? 0
      for (const row of rows) {
        const text = 'INSERT INTO naive(lsn, key, version) VALUES ($1, $2, $3)'
        await client.query(text, [lsn, rowKey(row), row.version])
      }
      await client.query('COMMIT')
      return lsn
    } finally {
      client.release()
    }
  }

  reader(): FeedReader {
    return new SequenceReader(this.#pool)
  }

  async scan(): Promise<readonly SeenRow[]> {
    const text = `SELECT DISTINCT ON (key) key, version, lsn FROM naive ORDER BY key, version DESC`
    return (await this.#pool.query<SeenRow>(text)).rows
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pool.end()
  }
}

class SequenceReader implements FeedReader {
  readonly #pool: Pool
  #last = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async *read({
    maxItems,
    maxPages,
    signal,
  }: Parameters<FeedReader['read']>[0]): AsyncGenerator<SeenPage, void, undefined> {
    // A transaction is never cut: what is missed is missed for its order.
    const text = `SELECT key, version, lsn FROM naive WHERE lsn > $1
      ORDER BY lsn FETCH FIRST $2 ROWS WITH TIES`
    for (let pages = 0; pages !== maxPages;) {
      signal?.throwIfAborted()
      const { rows } = await this.#pool.query<SeenRow>(text, [this.#last, maxItems])
      if (rows.length === 0 && maxPages === undefined) return
      if (rows.length === 0) {
        await sleep(POLL_MS)
        continue
      }
      this.#last = rows.at(-1)?.lsn ?? this.#last
      pages++
      yield { range: 'all', rows }
    }
  }
}
