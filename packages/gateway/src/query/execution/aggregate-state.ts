import { isPrimitive } from '../values/compare.ts'
import { compareSortValues, sortValue } from '../values/sort-value.ts'
import type { Json } from '../json.ts'
import type { AggregateName } from '../syntax/expression.ts'
import { ListState } from './list-state.ts'

/** One aggregate while rows are added to it. */
export interface AggregateState {
  add(value: Json): void
  result(): Json
}

/**
 * Undefined values count nowhere. SUM and AVG are undefined as soon as one value is no number, MIN and
 * MAX as soon as one is an array or an object. Without any value SUM is 0 and COUNT is 0, the others
 * are undefined. So does the service's reference interpreter.
 */
export function createAggregate(name: AggregateName): AggregateState {
  switch (name) {
    case 'COUNT':
      return new CountState()
    case 'SUM':
      return new SumState((sum) => sum)
    case 'AVG':
      return new SumState((sum, count) => (count === 0 ? undefined : sum / count))
    case 'MIN':
      return new ExtremeState(-1)
    case 'MAX':
      return new ExtremeState(1)
    case 'MAKELIST':
      return new ListState({ distinct: false })
    case 'MAKESET':
      return new ListState({ distinct: true })
  }
}

class CountState implements AggregateState {
  #count = 0

  add(value: Json): void {
    if (value !== undefined) this.#count++
  }

  result(): Json {
    return this.#count
  }
}

class SumState implements AggregateState {
  readonly #finish: (sum: number, count: number) => number | undefined
  #sum: number | undefined = 0
  #count = 0

  constructor(finish: (sum: number, count: number) => number | undefined) {
    this.#finish = finish
  }

  add(value: Json): void {
    if (value === undefined || this.#sum === undefined) return
    this.#sum = typeof value === 'number' ? this.#sum + value : undefined
    this.#count++
  }

  result(): Json {
    if (this.#sum === undefined || !Number.isFinite(this.#sum)) return undefined
    return this.#finish(this.#sum, this.#count)
  }
}

class ExtremeState implements AggregateState {
  readonly #sign: 1 | -1
  #best: Json
  #comparable = true

  constructor(sign: 1 | -1) {
    this.#sign = sign
  }

  add(value: Json): void {
    if (value === undefined) return
    this.#comparable &&= isPrimitive(value)
    if (!this.#comparable) return
    const isBetter =
      this.#best === undefined ||
      compareSortValues(sortValue(value), sortValue(this.#best)) * this.#sign > 0
    if (isBetter) this.#best = value
  }

  result(): Json {
    return this.#comparable ? this.#best : undefined
  }
}
