import { BadQueryError } from '../bad-query-error.ts'
import { MAX_SOURCES } from '../limits.ts'

interface BoundName {
  readonly name: string
  readonly slot: number
}

/** The names that FROM and JOIN have bound so far, and where a row holds their values. */
export class NameScope {
  #bound: readonly BoundName[] = []
  // The document itself is in 0, whether or not it has a name.
  #nextSlot = 1

  /** How many values a row of the whole query holds. */
  get slots(): number {
    return this.#nextSlot
  }

  /** The innermost binding of a name; names are told apart by case, as in the service. */
  slotOf(name: string): number | undefined {
    return this.#bound.findLast((bound) => bound.name === name)?.slot
  }

  bindDocument(name: string): void {
    this.#bound = [...this.#bound, { name, slot: 0 }]
  }

  /** @throws ERR_BAD_QUERY for more names than a query may have */
  bind(name: string): number {
    if (this.#nextSlot > MAX_SOURCES) {
      throw new BadQueryError(`FROM, JOIN and subqueries name at most ${MAX_SOURCES} sources`)
    }
    const slot = this.#nextSlot++
    this.#bound = [...this.#bound, { name, slot }]
    return slot
  }

  /** Runs `read` with names of its own, which are gone afterwards. */
  inside<T>(read: () => T): T {
    const outer = this.#bound
    const result = read()
    this.#bound = outer
    return result
  }
}
