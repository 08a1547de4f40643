import type { OrderDocument } from '../../data/order-document.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { PrototypeFeed } from './prototype-feed.ts'

const PAGE_SIZE = 1_000

/** Follows the prototype's feed: at every notification reads and parses what is new, and notes when. */
export class PrototypeTail implements AsyncDisposable {
  readonly #feed: PrototypeFeed
  readonly #positions = new Map<number, number>()
  readonly #rung = new Set<number>()
  #reading: Promise<void> | undefined
  /** Machine clock of the arrival, by revision. */
  readonly arrivals = new Map<number, number>()

  private constructor(feed: PrototypeFeed) {
    this.#feed = feed
    feed.client.on('notification', ({ payload }) => {
      this.#rung.add(Number(payload))
      this.#reading ??= this.#read()
    })
  }

  /** Begins after what is there. */
  static async start(url: string, segments: number): Promise<PrototypeTail> {
    const tail = new PrototypeTail(await PrototypeFeed.open(url, segments))
    await tail.#feed.client.query('LISTEN doc')
    for (let segment = 0; segment < segments; segment++) await tail.#readSegment(segment)
    tail.arrivals.clear()
    return tail
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reading
    await this.#feed[Symbol.asyncDispose]()
  }

  async #read(): Promise<void> {
    for (const segment of this.#rung) {
      this.#rung.delete(segment)
      await this.#readSegment(segment)
    }
    this.#reading = undefined
  }

  async #readSegment(segment: number): Promise<void> {
    for (;;) {
      const rows = await this.#feed.page(segment, this.#positions.get(segment) ?? 0, PAGE_SIZE)
      for (const row of rows) {
        // Our own documents.
        const { revision } = JSON.parse(row[1]) as OrderDocument
        this.arrivals.set(revision, machineMs())
      }
      const last = rows.at(-1)
      if (last === undefined) return
      this.#positions.set(segment, Number(last[0]))
      if (rows.length < PAGE_SIZE) return
    }
  }
}
