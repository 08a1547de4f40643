import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { PrototypeData } from '../../raw/prototype-data.ts'
import { textArray } from '../../postgres/raw/text-array.ts'

const LOAD_CHUNK = 10_000
/** Rows of a transaction that fills the outbox, as our store's side is loaded. */
const TRANSACTION_ROWS = 100

/** The table in which a service leaves what others are to be told, in the transaction of its own change. */
export class Outbox implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  /** Makes it empty, beside the documents 0 to `count` that are to go through it. */
  static async create(url: string, count: number): Promise<Outbox> {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query(`
      CREATE TABLE source(n integer PRIMARY KEY, body text NOT NULL);
      CREATE TABLE outbox(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
      CREATE PUBLICATION outbox_inserts FOR TABLE outbox WITH (publish = 'insert');`)
    const data = new PrototypeData()
    for (let from = 0; from < count; from += LOAD_CHUNK) {
      const length = Math.min(LOAD_CHUNK, count - from)
      const bodies = Array.from({ length }, (_, index) => data.write(from + index, 0).body)
      await client.query(
        `INSERT INTO source SELECT $1::int + n - 1, body FROM unnest($2::text[]) WITH ORDINALITY AS o(body, n)`,
        [from, textArray(bodies)],
      )
    }
    return new Outbox(client)
  }

  /** Empties it; with `slot` what comes in from then on is kept for who reads that slot. */
  async clear(slot?: string): Promise<void> {
    await this.#client.query('TRUNCATE outbox')
    if (slot === undefined) return
    await this.#client.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput')`, [slot])
  }

  /** Empties it, and puts all documents in, in transactions of 100; with `slot` as `clear`. */
  async fill(slot?: string): Promise<void> {
    await this.clear(slot)
    await this.#client.query(`DO $$
      DECLARE v_count integer := (SELECT count(*) FROM source);
      BEGIN
        FOR v_from IN 0..v_count - 1 BY ${TRANSACTION_ROWS} LOOP
          INSERT INTO outbox(body)
            SELECT body FROM source WHERE n >= v_from AND n < v_from + ${TRANSACTION_ROWS} ORDER BY n;
          COMMIT;
        END LOOP;
      END $$`)
    await this.#client.query('VACUUM ANALYZE outbox')
  }

  /** The server may notice a moment later that who read it has gone. */
  async dropSlot(slot: string): Promise<void> {
    const active = 'SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active'
    while ((await this.#client.query(active, [slot])).rows.length > 0) await setTimeout(10)
    await this.#client.query('SELECT pg_drop_replication_slot($1)', [slot])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}
