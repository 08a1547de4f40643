import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { join } from 'node:path'
import { machineMs } from '../measuring/stopwatch.ts'
import { PrototypeData } from './prototype-data.ts'
import { createPrototype, PrototypeWriter, SEGMENT_SPAN } from './prototype-schema.ts'

type ExpiredRow = readonly [seq: number, exp: number]

/** Documents of one commit, as many as the store's sweep takes. */
const PIECE = 500
const NOW = 4_000_000_000

/** The sweep by hand: the same move of rows in transactions of the same size, on the caller's thread. */
export class PrototypeSweep implements Disposable {
  readonly #database: DatabaseSync
  readonly #expired: StatementSync
  readonly #counter: StatementSync
  readonly #move: StatementSync
  readonly #advance: StatementSync
  readonly #data = new PrototypeData()

  constructor(folder: string, file = 'prototype-sweep.db') {
    this.#database = new DatabaseSync(join(folder, file))
    createPrototype(this.#database)
    this.#expired = this.#database.prepare(
      `SELECT seq, exp FROM doc INDEXED BY expiry
       WHERE coll = 1 AND kind = 0 AND exp > 0 AND exp <= ? ORDER BY exp LIMIT ?`,
    )
    this.#counter = this.#database.prepare('SELECT lsn FROM segment WHERE id = ?')
    this.#move = this.#database.prepare(
      'UPDATE doc SET seq = ?, lsn = ?, kind = 1, ts = ?, exp = ? WHERE seq = ?',
    )
    this.#advance = this.#database.prepare('UPDATE segment SET lsn = ? WHERE id = ?')
    for (const statement of [this.#expired, this.#counter]) statement.setReturnArrays(true)
  }

  /** Documents 0 to `count`, all of which have expired; a thousand a commit. */
  load(count: number): void {
    const writer = new PrototypeWriter(this.#database)
    for (let from = 0; from < count; from += 1_000) {
      this.#commit(() => {
        for (let index = from; index < Math.min(from + 1_000, count); index++) {
          writer.write([{ ...this.#data.write(index, 0), expiresAt: NOW - count + index }])
        }
      })
    }
  }

  /** For so long or so many at most. */
  sweep({ seconds, most }: { readonly seconds: number; readonly most: number }): {
    readonly items: number
    readonly ms: number
  } {
    const started = machineMs()
    let items = 0
    for (let more = true; more && items < most && machineMs() < started + seconds * 1000;) {
      const swept = this.#commit(() => this.#piece())
      items += swept
      more = swept === PIECE
    }
    return { items, ms: machineMs() - started }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #piece(): number {
    // Arrays, as set above; the types only know rows as objects.
    const rows = this.#expired.all(NOW, PIECE) as unknown as readonly ExpiredRow[]
    const counters = new Map<number, number>()
    for (const [seq, second] of rows) {
      const segment = Math.floor(seq / SEGMENT_SPAN)
      const lsn = (counters.get(segment) ?? this.#lsnOf(segment)) + 1
      counters.set(segment, lsn)
      this.#move.run(segment * SEGMENT_SPAN + lsn, lsn, NOW, second, seq)
    }
    for (const [segment, lsn] of counters) this.#advance.run(lsn, segment)
    return rows.length
  }

  #lsnOf(segment: number): number {
    const [lsn] = this.#counter.get(segment) as unknown as [number]
    return lsn
  }

  #commit<Result>(act: () => Result): Result {
    this.#database.exec('BEGIN IMMEDIATE')
    const result = act()
    this.#database.exec('COMMIT')
    return result
  }
}
