import { isPrimitive } from '../values/compare.ts'
import { compareSortValues, type PrimitiveSortValue } from '../values/sort-value.ts'
import type { Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { AggregateName } from '../syntax/expression.ts'
import type { AggregateState } from './aggregate-state.ts'
import { ListState } from './list-state.ts'

/**
 * Undefined values count nowhere. SUM and AVG are undefined as soon as one value is no number, MIN and
 * MAX as soon as one is an array or an object. Without any value SUM is 0 and COUNT is 0, the others
 * are undefined. So does the service's reference interpreter.
 */
export function createAggregate(name: AggregateName, budget: QueryBudget): AggregateState {
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
      return new ListState(budget, { distinct: false })
    case 'MAKESET':
      return new ListState(budget, { distinct: true })
  }
}

class CountState implements AggregateState {
  #count = 0

  add(value: Json): number {
    if (value !== undefined) this.#count++
    return 0
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

  add(value: Json): number {
    if (value === undefined || this.#sum === undefined) return 0
    this.#sum = typeof value === 'number' ? this.#sum + value : undefined
    this.#count++
    return 0
  }

  result(): Json {
    if (this.#sum === undefined || !Number.isFinite(this.#sum)) return undefined
    return this.#finish(this.#sum, this.#count)
  }
}

class ExtremeState implements AggregateState {
  readonly #sign: 1 | -1
  #best: PrimitiveSortValue
  #comparable = true

  constructor(sign: 1 | -1) {
    this.#sign = sign
  }

  add(value: Json): number {
    if (value === undefined) return 0
    if (!this.#comparable || !isPrimitive(value)) {
      this.#comparable = false
      return 0
    }
    const best = this.#best
    const isBetter = best === undefined || compareSortValues(value, best) * this.#sign > 0
    if (!isBetter) return 0
    this.#best = value
    return textLength(value) - textLength(best)
  }

  result(): Json {
    return this.#comparable ? this.#best : undefined
  }
}

function textLength(value: PrimitiveSortValue): number {
  return typeof value === 'string' ? value.length : 0
}
