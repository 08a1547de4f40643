import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** What a caller asks of a bare queue. */
export type BareCommand =
  | { readonly kind: 'send'; readonly bodies: readonly string[] }
  | { readonly kind: 'take'; readonly count: number; readonly lock: string }
  | { readonly kind: 'complete'; readonly ids: readonly number[]; readonly lock: string }

export interface BareMessage {
  readonly id: number
  readonly body: string
}

const LOCK_MS = 60_000

/**
 * A queue as one would write it by hand with `node:sqlite`: a body that is written once and a small row that changes, as
 * in our store, but no entities, numbers, sessions, expiry, schedules, limits or checks.
 */
export class BareQueueTables {
  readonly #insert: StatementSync
  readonly #insertBody: StatementSync
  readonly #free: StatementSync
  readonly #lock: StatementSync
  readonly #body: StatementSync
  readonly #delete: StatementSync
  readonly #deleteBody: StatementSync

  constructor(database: DatabaseSync) {
    database.exec(`
      CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY, lock TEXT, until INT, deliveries INT NOT NULL);
      CREATE INDEX IF NOT EXISTS free ON state(id) WHERE lock IS NULL;
      CREATE TABLE IF NOT EXISTS body(id INTEGER PRIMARY KEY, body TEXT NOT NULL);`)
    this.#insert = database.prepare('INSERT INTO state VALUES (NULL, NULL, NULL, 0)')
    this.#insertBody = database.prepare('INSERT INTO body VALUES (?, ?)')
    this.#free = database.prepare('SELECT id FROM state WHERE lock IS NULL ORDER BY id LIMIT ?')
    this.#lock = database.prepare(
      'UPDATE state SET lock = ?, until = ?, deliveries = deliveries + 1 WHERE id = ?',
    )
    this.#body = database.prepare('SELECT body FROM body WHERE id = ?')
    this.#delete = database.prepare('DELETE FROM state WHERE id = ? AND lock = ?')
    this.#deleteBody = database.prepare('DELETE FROM body WHERE id = ?')
  }

  /** Within a transaction. Only `take` brings something. */
  perform(command: BareCommand): readonly BareMessage[] {
    switch (command.kind) {
      case 'send':
        for (const body of command.bodies) {
          this.#insertBody.run(this.#insert.run().lastInsertRowid, body)
        }
        return []
      case 'take':
        return (this.#free.all(command.count) as unknown as { id: number }[]).map(({ id }) => {
          this.#lock.run(command.lock, Date.now() + LOCK_MS, id)
          return { id, ...(this.#body.get(id) as { body: string }) }
        })
      default:
        for (const id of command.ids) {
          if (this.#delete.run(id, command.lock).changes === 0) throw new Error('the lock is lost')
          this.#deleteBody.run(id)
        }
        return []
    }
  }
}
