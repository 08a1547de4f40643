import { machineMs } from '../measuring/stopwatch.ts'
import type { OrderDocument } from '../data/order-document.ts'
import { PrototypeReader } from './prototype-reader.ts'
import { SEGMENT_SPAN, SEGMENTS } from './prototype-schema.ts'

/** Follows the prototype's feed: at every ring reads and parses what is new, and notes when. */
export class PrototypeTail implements Disposable {
  readonly #reader: PrototypeReader
  readonly #slots: number[]
  /** Machine clock of the arrival, by revision. */
  readonly arrivals = new Map<number, number>()

  constructor(file: string) {
    this.#reader = new PrototypeReader(file)
    this.#slots = Array.from({ length: SEGMENTS }, () => 0)
    this.readNew()
    this.arrivals.clear()
  }

  readNew(): void {
    for (let segment = 0; segment < SEGMENTS; segment++) {
      for (;;) {
        const rows = this.#reader.page(segment, this.#slots[segment] ?? 0, 1_000)
        for (const row of rows) {
          const { revision } = JSON.parse(row[3]) as OrderDocument
          this.arrivals.set(revision, machineMs())
        }
        const last = rows.at(-1)
        if (last === undefined) break
        this.#slots[segment] = last[0] - segment * SEGMENT_SPAN
      }
    }
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]()
  }
}
