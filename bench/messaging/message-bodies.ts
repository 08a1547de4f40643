import { orderDocument, type OrderDocument } from '../data/order-document.ts'

export type Body = OrderDocument

/** Bodies of messages: the orders that all benchmarks write. */
export class MessageBodies {
  #next = 0

  one(): Body {
    return orderDocument(this.#next++)
  }

  many(count: number): Body[] {
    return Array.from({ length: count }, () => this.one())
  }
}
