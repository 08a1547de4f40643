import Database from 'better-sqlite3'
import { orderDocument, type OrderDocument } from '../../data/order-document.ts'
import { machineMs } from '../../measuring/stopwatch.ts'

const PAGE = 1_000

interface FeedRow {
  readonly seq: number
  readonly id: string
  readonly customer_id: string
  readonly updated_at: number
  readonly body: string
}

/** Called with each document and awaited, as a hand-written loop would. */
export type NaiveObserver = (document: OrderDocument) => Promise<void> | void

/**
 * What one writes without this project: a table with a sequence, and a loop that selects what is above
 * the last number seen, parses it and calls a function. One process, no leases, and its position is
 * nowhere but in memory.
 */
export class NaivePollFeed implements Disposable {
  readonly #database: Database.Database

  constructor(file: string) {
    this.#database = new Database(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.exec(
      `CREATE TABLE IF NOT EXISTS doc(
         seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, customer_id TEXT NOT NULL, updated_at INT NOT NULL,
         body TEXT NOT NULL)`,
    )
  }

  load(count: number): void {
    const insert = this.#database.prepare(
      'INSERT INTO doc(id, customer_id, updated_at, body) VALUES (?, ?, ?, ?)',
    )
    this.#database.exec('BEGIN')
    for (let index = 0; index < count; index++) {
      const document = orderDocument(index)
      insert.run(document.id, document.customerId, Date.now(), JSON.stringify(document))
    }
    this.#database.exec('COMMIT')
  }

  /** Documents per second from the beginning to the end. */
  async drain(observer: NaiveObserver): Promise<number> {
    const page = this.#database.prepare<[number, number], FeedRow>(
      'SELECT seq, id, customer_id, updated_at, body FROM doc WHERE seq > ? ORDER BY seq LIMIT ?',
    )
    const started = machineMs()
    let documents = 0
    for (let seq = 0; ;) {
      const rows = page.all(seq, PAGE)
      if (rows.length === 0) break
      for (const row of rows) {
        await observer(JSON.parse(row.body) as OrderDocument)
        seq = row.seq
      }
      documents += rows.length
    }
    return (documents / (machineMs() - started)) * 1000
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
