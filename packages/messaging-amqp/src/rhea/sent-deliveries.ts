import type { RheaDelivery } from './rhea-internals.ts'

/** Of one session: a client may hold as many as it gives credit for, and each costs a kilobyte. */
const MAX_UNSETTLED = 65_536

/**
 * The deliveries that were sent to a client and are not settled on both sides. rhea's own ring gives places back in their order only:
 * behind one message that is held, 2,047 others would end the session.
 */
export class SentDeliveries {
  /** In the order of their ids. */
  readonly #byId = new Map<number, RheaDelivery>()
  #newest: RheaDelivery | undefined

  available(): number {
    return MAX_UNSETTLED - this.#byId.size
  }

  push(delivery: RheaDelivery): void {
    this.#byId.set(delivery.id, delivery)
    this.#newest = delivery
  }

  by_id(id: number): RheaDelivery | undefined {
    return this.#byId.get(id)
  }

  /** Those from one id to another. */
  between(first: number, last: number): readonly RheaDelivery[] {
    if (last - first > this.#byId.size) {
      return [...this.#byId.values()].filter(({ id }) => id >= first && id <= last)
    }
    const ids = Array.from({ length: last - first + 1 }, (_, at) => first + at)
    return ids.flatMap((id) => this.#byId.get(id) ?? [])
  }

  /** The oldest. */
  get_head(): RheaDelivery | undefined {
    return this.#byId.values().next().value
  }

  /** The one that came last, which may be settled. */
  get_tail(): RheaDelivery | undefined {
    return this.#newest
  }

  forget(delivery: RheaDelivery): void {
    this.#byId.delete(delivery.id)
  }

  /** The oldest ones that are done: rhea asks for it whenever it has sent. */
  pop_if(isDone: (delivery: RheaDelivery) => boolean): void {
    for (const [id, delivery] of this.#byId) {
      if (!isDone(delivery)) return
      this.#byId.delete(id)
    }
  }
}
