import type { Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { PathExpression, Subquery } from '../syntax/expression.ts'

/** What expressions are evaluated in: one row, the parameters, and results of a group. */
export interface RowEnvironment {
  /** By slot; the document is in 0. Changes from row to row. */
  readonly slots: Json[]
  /** By name, with the `@`. */
  readonly parameters: ReadonlyMap<string, Json>
  readonly nowMs: number
  /** Computed properties of the document by name, each as a function of it; undefined = none. */
  readonly computed?: ReadonlyMap<string, (document: Json) => Json> | undefined
  /** Of the group that is projected. */
  groupValues: readonly Json[]
  aggregateValues: readonly Json[]
  /** What the query may still cost. */
  readonly budget: QueryBudget
  /** Gives the rows of a subquery over the present row, at most as many as asked for. */
  readonly rowsOf: (query: Subquery, limit: number) => Json[]
}

/**
 * The computed property that a path begins with, if it does: `c.name` and `c["name"]` of the document itself. It wins
 * over a stored property of that name.
 */
export function computedOf(
  { root, steps: [first] }: PathExpression,
  { computed }: RowEnvironment,
): ((document: Json) => Json) | undefined {
  if (computed === undefined || root.kind !== 'variable' || root.slot !== 0) return undefined
  const name = first?.kind === 'literal' ? first.value : undefined
  return typeof name === 'string' ? computed.get(name) : undefined
}
