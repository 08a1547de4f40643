import type { DatabaseSync, StatementSync } from 'node:sqlite'

/**
 * The store's tables without the store: what one would write by hand with `node:sqlite` for the same
 * guarantees. The store's own layer is measured against it.
 */
export const SEGMENT_SPAN: number = 2 ** 32
export const SEGMENTS = 4

export function createPrototype(database: DatabaseSync): void {
  configureConnection(database)
  database.exec(`
    CREATE TABLE IF NOT EXISTS doc(
      seq INTEGER PRIMARY KEY, lsn INT NOT NULL, coll INT NOT NULL, kind INT NOT NULL, epk TEXT NOT NULL,
      pk TEXT NOT NULL, id TEXT NOT NULL, ts INT NOT NULL, ttl INT NOT NULL, exp INT NOT NULL, body TEXT NOT NULL);
    CREATE UNIQUE INDEX IF NOT EXISTS pri ON doc(coll, epk, pk, id) WHERE kind = 0;
    CREATE INDEX IF NOT EXISTS expiry ON doc(coll, exp) WHERE kind = 0 AND exp > 0;
    CREATE INDEX IF NOT EXISTS pending ON doc(coll, seq) WHERE kind = 1;
    CREATE TABLE IF NOT EXISTS segment(id INTEGER PRIMARY KEY, lsn INT NOT NULL);`)
  const insert = database.prepare('INSERT OR IGNORE INTO segment VALUES (?, 0)')
  for (let segment = 0; segment < SEGMENTS; segment++) insert.run(segment)
}

/** Settings are per connection: every one of them sets all. */
export function configureConnection(database: DatabaseSync): void {
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000;
    PRAGMA mmap_size = 4294967296; PRAGMA cache_size = -65536;`)
}

export interface PrototypeWrite {
  readonly segment: number
  readonly epk: string
  readonly pk: string
  readonly id: string
  readonly body: string
  /** A quarter of the documents has one. */
  readonly expiresAt: number
}

/** Writes inside a transaction that the caller opens and commits. */
export class PrototypeWriter {
  readonly #find: StatementSync
  readonly #counter: StatementSync
  readonly #delete: StatementSync
  readonly #insert: StatementSync
  readonly #advance: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare(
      'SELECT seq, lsn FROM doc WHERE coll = 1 AND epk = ? AND pk = ? AND id = ? AND kind = 0',
    )
    this.#counter = database.prepare('SELECT lsn FROM segment WHERE id = ?')
    this.#delete = database.prepare('DELETE FROM doc WHERE seq = ?')
    this.#insert = database.prepare('INSERT INTO doc VALUES (?, ?, 1, 0, ?, ?, ?, ?, ?, ?, ?)')
    this.#advance = database.prepare('UPDATE segment SET lsn = ? WHERE id = ?')
    for (const statement of [this.#find, this.#counter]) statement.setReturnArrays(true)
  }

  /** One transactional batch of one segment: the documents share the last slot's number as LSN. */
  write(batch: readonly PrototypeWrite[]): void {
    const [first] = batch
    if (first === undefined) return
    // Arrays, as set above; the types only know rows as objects.
    const [start] = this.#counter.get(first.segment) as unknown as [number]
    const lsn = start + batch.length
    const ts = Math.floor(Date.now() / 1000)
    for (const [index, { segment, epk, pk, id, body, expiresAt }] of batch.entries()) {
      const present = this.#find.get(epk, pk, id) as unknown as [number, number] | undefined
      if (present !== undefined) this.#delete.run(present[0])
      const seq = segment * SEGMENT_SPAN + start + index + 1
      this.#insert.run(seq, lsn, epk, pk, id, ts, expiresAt > 0 ? 3_600 : 0, expiresAt, body)
    }
    this.#advance.run(lsn, first.segment)
  }
}
