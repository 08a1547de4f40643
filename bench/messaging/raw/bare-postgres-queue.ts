import { randomUUID } from 'node:crypto'
import { Pool } from 'pg'
import { MessageBodies } from '../message-bodies.ts'
import type { CalledQueue } from '../queue-rates.ts'

const TABLES = `
CREATE TABLE state(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, lock uuid, until timestamptz, deliveries int NOT NULL DEFAULT 0)
  WITH (fillfactor = 70);
CREATE INDEX free ON state(id) WHERE lock IS NULL;
CREATE TABLE body(id bigint PRIMARY KEY, body text NOT NULL);`

/** One statement and one commit for each call. */
const SEND = {
  name: 'send',
  text: `WITH sent AS (INSERT INTO state(deliveries) SELECT 0 FROM unnest($1::text[]) RETURNING id),
    place AS (SELECT id, row_number() OVER () AS at FROM sent)
    INSERT INTO body SELECT place.id, given.body
    FROM place JOIN unnest($1::text[]) WITH ORDINALITY AS given(body, at) USING (at)`,
}
const TAKE = {
  name: 'take',
  text: `WITH free AS (SELECT id FROM state WHERE lock IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED),
    taken AS (UPDATE state SET lock = $2, until = now() + interval '1 minute', deliveries = deliveries + 1
      FROM free WHERE state.id = free.id RETURNING state.id)
    SELECT id, body FROM taken JOIN body USING (id) ORDER BY id`,
}
const COMPLETE = {
  name: 'complete',
  text: `WITH done AS (DELETE FROM state WHERE id = ANY($1) AND lock = $2 RETURNING id)
    DELETE FROM body USING done WHERE body.id = done.id`,
}

/** A queue as one would write it by hand over `pg`: rows that nobody else is taking. */
export class BarePostgresQueue implements CalledQueue {
  readonly #pool: Pool
  readonly #bodies = new MessageBodies()

  private constructor(pool: Pool) {
    this.#pool = pool
  }

  static async create(url: string, connections: number): Promise<BarePostgresQueue> {
    const pool = new Pool({ connectionString: url, max: connections })
    await pool.query(TABLES)
    return new BarePostgresQueue(pool)
  }

  async send(count: number): Promise<void> {
    const bodies = this.#bodies.many(count).map((body) => JSON.stringify(body))
    await this.#pool.query({ ...SEND, values: [bodies] })
  }

  async take(count: number): Promise<number> {
    const lock = randomUUID()
    const taken = await this.#pool.query<{ id: string; body: string }>({
      ...TAKE,
      values: [count, lock],
    })
    for (const { body } of taken.rows) JSON.parse(body)
    if (taken.rows.length === 0) return 0
    const { rowCount } = await this.#pool.query({
      ...COMPLETE,
      values: [taken.rows.map(({ id }) => id), lock],
    })
    if (rowCount !== taken.rows.length) throw new Error('the lock is lost')
    return taken.rows.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end()
  }
}
