import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { rateOf } from '../measuring/stopwatch.ts'
import { PrototypeData } from './prototype-data.ts'
import { configureConnection, SEGMENT_SPAN, SEGMENTS } from './prototype-schema.ts'

type Row = readonly [seq: number, lsn: number, kind: number, body: string]

/** Reads the prototype's feed and documents with a connection of its own. */
export class PrototypeReader implements Disposable {
  readonly #database: DatabaseSync
  readonly #page: StatementSync
  readonly #point: StatementSync
  readonly #data = new PrototypeData()

  constructor(file: string) {
    this.#database = new DatabaseSync(file)
    configureConnection(this.#database)
    this.#page = this.#database.prepare(
      'SELECT seq, lsn, kind, body FROM doc WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?',
    )
    this.#point = this.#database.prepare(
      'SELECT lsn, ts, ttl, body FROM doc WHERE coll = 1 AND epk = ? AND pk = ? AND id = ? AND kind = 0',
    )
    for (const statement of [this.#page, this.#point]) statement.setReturnArrays(true)
  }

  /** The next page of a segment. */
  page(segment: number, afterSlot: number, limit: number): readonly Row[] {
    const base = segment * SEGMENT_SPAN
    return this.#page.all(base + afterSlot, base + SEGMENT_SPAN, limit) as unknown as readonly Row[]
  }

  /** Documents per second over the whole feed, again and again; `parse` is the cost of objects. */
  measureFeed({ parse, pageSize }: { parse: boolean; pageSize: number }, seconds: number): number {
    return rateOf(() => {
      let documents = 0
      for (let segment = 0; segment < SEGMENTS; segment++) {
        for (let slot = 0; ;) {
          const rows = this.page(segment, slot, pageSize)
          if (parse) for (const row of rows) documents += JSON.parse(row[3]) === null ? 0 : 1
          else documents += rows.length
          const last = rows.at(-1)
          if (last === undefined) break
          slot = last[0] - segment * SEGMENT_SPAN
        }
      }
      return documents
    }, seconds)
  }

  /** Parsed point reads per second over `documents` documents. */
  measurePointReads(documents: number, seconds: number): number {
    const keys = Array.from({ length: documents }, (_, index) => {
      const { epk, pk, id } = this.#data.write(index, 0)
      return [epk, pk, id] as const
    })
    let turn = 0
    return rateOf(() => {
      for (let count = 0; count < 100; count++) {
        const key = keys[(turn = (turn + 7_919) % documents)]!
        const row = this.#point.get(...key) as unknown as readonly [number, number, number, string]
        JSON.parse(row[3])
      }
      return 100
    }, seconds)
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
