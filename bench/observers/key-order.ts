import type { Change } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'

/** The order of the feed for each key, to compare with the order in which an observer accepted it. */
export class KeyOrder {
  readonly #expected: ReadonlyMap<string, readonly string[]>

  private constructor(expected: ReadonlyMap<string, readonly string[]>) {
    this.#expected = expected
  }

  static async read(orders: Collection<OrderDocument>): Promise<KeyOrder> {
    const expected = new Map<string, string[]>()
    for (const range of await orders.readFeedRanges()) {
      let { continuation } = await orders.resolveStart({ range, start: 'beginning' })
      for (let caughtUp = false; !caughtUp;) {
        const page = await orders.readPage({ range, continuation, maxItemCount: 1_000 })
        note(page.changes, expected)
        continuation = page.continuation
        caughtUp = page.caughtUp
      }
    }
    return new KeyOrder(expected)
  }

  get count(): number {
    let sum = 0
    for (const ids of this.#expected.values()) sum += ids.length
    return sum
  }

  /**
   * Throws unless each key's changes were accepted once each, in the order of the feed and without a gap: to the end,
   * except for `without`, or as far as they came with `isWhole` false.
   */
  check(
    accepted: AcceptedOrder,
    { isWhole, without }: { readonly isWhole: boolean; readonly without?: string | undefined },
  ): void {
    for (const [key, all] of this.#expected) {
      const expected = all.filter((id) => id !== without)
      const found = accepted.perKey.get(key) ?? []
      const isComplete = isWhole ? found.length === expected.length : true
      if (isComplete && found.every((id, index) => id === expected[index])) continue
      const at = found.findIndex((id, index) => id !== expected[index])
      throw new Error(
        `${key}: ${found.length} of ${expected.length} accepted, place ${at} has ${found[at]} ` +
          `in the place of ${expected[at]}`,
      )
    }
  }
}

/** What an observer accepted, in its order. */
export class AcceptedOrder {
  readonly perKey = new Map<string, string[]>()

  add(changes: readonly Change<OrderDocument>[]): void {
    note(changes, this.perKey)
  }
}

function note(changes: readonly Change<OrderDocument>[], perKey: Map<string, string[]>): void {
  for (const { id, partitionKey } of changes) {
    const key = String(partitionKey)
    const ids = perKey.get(key)
    if (ids === undefined) perKey.set(key, [id])
    else ids.push(id)
  }
}
