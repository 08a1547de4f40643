import { BadQueryError } from '../bad-query-error.ts'
import type { Json } from '../json.ts'
import { MAX_VALUE_CHARS } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import { valueHash } from '../values/value-hash.ts'
import { valueChars } from '../values/value-size.ts'
import type { AggregateState } from './aggregate-state.ts'

/** MAKELIST, and MAKESET, which takes equal values once. Both are empty without a value, and leave undefined ones out. */
export class ListState implements AggregateState {
  readonly #values: Json[] = []
  /** Hashes of what is in the set; undefined for a list. */
  readonly #seen: Set<string> | undefined
  readonly #budget: QueryBudget
  #chars = 0

  constructor(budget: QueryBudget, { distinct }: { readonly distinct: boolean }) {
    this.#budget = budget
    this.#seen = distinct ? new Set() : undefined
  }

  /** Gives how many more characters are kept than before. */
  add(value: Json): number {
    if (value === undefined) return 0
    if (this.#seen !== undefined) {
      const hash = valueHash(value, this.#budget)
      if (this.#seen.has(hash)) return 0
      this.#seen.add(hash)
    }
    const chars = valueChars(value, this.#budget)
    this.#chars += chars
    if (this.#chars > MAX_VALUE_CHARS) {
      throw new BadQueryError(
        `a MAKELIST or MAKESET is larger than ${MAX_VALUE_CHARS} characters: ` +
          'take fewer rows into it by WHERE or GROUP BY, or select the values as rows',
      )
    }
    this.#values.push(value)
    return chars
  }

  result(): Json {
    return this.#values
  }
}
