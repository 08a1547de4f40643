import type { Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'

export interface FunctionContext {
  /** Wall time of the query, ms since 1970: one value for a whole page. */
  readonly nowMs: number
  /**
   * Strings among the arguments, and a string or an array that is the result, are charged by the caller. A function
   * charges what it does besides: comparisons, and whatever grows faster than its arguments.
   */
  readonly budget: QueryBudget
}

/** A system function. Arguments of a wrong type make the result undefined, as everywhere in this SQL. */
export interface SqlFunction {
  readonly minArguments: number
  readonly maxArguments: number
  evaluate(values: readonly Json[], context: FunctionContext): Json
}

/** Functions by their name in upper case. */
export type FunctionTable = Readonly<Record<string, SqlFunction>>

/** A function of any values, with a fixed number of arguments or between two numbers. */
export function anyFunction(
  [minArguments, maxArguments]: readonly [min: number, max: number],
  evaluate: SqlFunction['evaluate'],
): SqlFunction {
  return { minArguments, maxArguments, evaluate }
}

/** JSON has no infinity and no NaN: a calculation that yields one has no result. */
export function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined
}
