import type { Json } from '../json.ts'
import type { Subquery } from '../syntax/expression.ts'

/** What expressions are evaluated in: one row, the parameters, and results of a group. */
export interface RowEnvironment {
  /** By slot; the document is in 0. Changes from row to row. */
  readonly slots: Json[]
  /** By name, with the `@`. */
  readonly parameters: ReadonlyMap<string, Json>
  readonly nowMs: number
  /** Of the group that is projected. */
  groupValues: readonly Json[]
  aggregateValues: readonly Json[]
  /** Combinations that the present document may still make. */
  rowsLeft: number
  /** Gives the rows of a subquery over the present row, at most so many as asked for. */
  readonly rowsOf: (query: Subquery, limit: number) => Json[]
}
