import { setImmediate } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { orderDocument } from '../../../data/order-document.ts'

/** Parts of the keys, so that two workers can have a half each. */
const PARTS = 2

export interface NaivePage {
  readonly bodies: readonly string[]
  readonly seq: number
}

/**
 * What one writes with better-sqlite3 and no library: documents in a table with a sequence, and each worker's position in
 * another. Writers sync each commit.
 */
export class NaiveFeed implements Disposable {
  readonly #database: Database.Database

  constructor(file: string, { synchronous }: { readonly synchronous: 'NORMAL' | 'FULL' }) {
    this.#database = new Database(file)
    this.#database.pragma('journal_mode = WAL')
    this.#database.pragma(`synchronous = ${synchronous}`)
    this.#database.pragma('busy_timeout = 5000')
    this.#database.exec(`
      CREATE TABLE IF NOT EXISTS doc(seq INTEGER PRIMARY KEY, part INT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL);
      CREATE INDEX IF NOT EXISTS doc_by_part ON doc(part, seq);
      CREATE TABLE IF NOT EXISTS position(name TEXT PRIMARY KEY, seq INT NOT NULL) WITHOUT ROWID;`)
  }

  /** Takes documents in one commit. */
  insert(indexes: readonly number[]): void {
    const insert = this.#database.prepare('INSERT INTO doc(part, id, body) VALUES (?, ?, ?)')
    this.#database.transaction(() => {
      for (const index of indexes) {
        const document = orderDocument(index)
        // Customers alternate, so that each part has half of them.
        insert.run(index % PARTS, document.id, JSON.stringify(document))
      }
    })()
  }

  get newest(): number {
    return (this.#database.prepare('SELECT max(seq) FROM doc').pluck().get() as number | null) ?? 0
  }

  position(name: string, otherwise: number): number {
    const seq = this.#database.prepare('SELECT seq FROM position WHERE name = ?').pluck().get(name)
    return typeof seq === 'number' ? seq : otherwise
  }

  checkpoint(name: string, seq: number): void {
    this.#database.prepare('INSERT OR REPLACE INTO position VALUES (?, ?)').run(name, seq)
  }

  /** One of two workers reads its part; one alone reads all. */
  pages({
    part,
    limit,
  }: {
    readonly part: number | undefined
    readonly limit: number
  }): (after: number) => NaivePage {
    const where = part === undefined ? '' : `part = ${part} AND`
    const page = this.#database.prepare<[number], { readonly seq: number; readonly body: string }>(
      `SELECT seq, body FROM doc WHERE ${where} seq > ? ORDER BY seq LIMIT ${limit}`,
    )
    return (after) => {
      const rows = page.all(after)
      return { bodies: rows.map(({ body }) => body), seq: rows.at(-1)?.seq ?? after }
    }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}

const LOAD_CHUNK = 10_000

export async function loadNaive(feed: NaiveFeed, count: number): Promise<void> {
  for (let from = 0; from < count; from += LOAD_CHUNK) {
    const length = Math.min(LOAD_CHUNK, count - from)
    feed.insert(Array.from({ length }, (_, at) => from + at))
    await setImmediate()
  }
}

/** Writes that are called in one turn share a commit. */
export class NaiveWriter {
  readonly #feed: NaiveFeed
  #indexes: number[] = []
  #committed: Promise<void> | undefined

  constructor(feed: NaiveFeed) {
    this.#feed = feed
  }

  write(index: number): Promise<void> {
    this.#indexes.push(index)
    this.#committed ??= this.#commit()
    return this.#committed
  }

  async #commit(): Promise<void> {
    await setImmediate()
    this.#committed = undefined
    this.#feed.insert(this.#indexes.splice(0))
  }
}
