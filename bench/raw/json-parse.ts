import { orderDocument } from '../data/order-document.ts'
import { rateOf } from '../measuring/stopwatch.ts'

const TEXTS = 10_000

/** `JSON.parse` of one document's text after the other: no reader of parsed documents can be faster. */
export class JsonParseLimit {
  readonly #texts: readonly string[] = Array.from({ length: TEXTS }, (_, index) =>
    // Through a buffer: strings that came from outside are flat, as a driver's are.
    Buffer.from(JSON.stringify(orderDocument(index))).toString('latin1'),
  )

  measure(seconds: number): number {
    return rateOf(() => {
      let seen = 0
      for (const text of this.#texts) {
        const document: unknown = JSON.parse(text)
        if (document !== null) seen++
      }
      return seen
    }, seconds)
  }
}
