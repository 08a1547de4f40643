import { machineMs } from '../measuring/stopwatch.ts'

/** What came of one page. */
export interface RoundPage<Position> {
  readonly documents: number
  readonly next: Position
  readonly isLast: boolean
}

/**
 * Reads page after page, range after range, and starts over after the last: each measurement goes on where the one
 * before ended, so that all of a feed has its turn however large it is.
 */
export class RoundReader<Position> {
  readonly #read: (range: number, from: Position | undefined) => Promise<RoundPage<Position>>
  readonly #ranges: number
  #range = 0
  #from: Position | undefined

  constructor(
    ranges: number,
    read: (range: number, from: Position | undefined) => Promise<RoundPage<Position>>,
  ) {
    this.#ranges = ranges
    this.#read = read
  }

  /** Documents per second. */
  async measure(seconds: number): Promise<number> {
    const started = machineMs()
    let documents = 0
    do {
      const page = await this.#read(this.#range, this.#from)
      documents += page.documents
      this.#from = page.isLast ? undefined : page.next
      if (page.isLast) this.#range = (this.#range + 1) % this.#ranges
    } while (machineMs() < started + seconds * 1000)
    return (documents / (machineMs() - started)) * 1000
  }
}
