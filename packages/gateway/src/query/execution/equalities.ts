import type { Json } from '../json.ts'
import type { QueryParameter } from '../query-options.ts'
import type { Expression } from '../syntax/expression.ts'
import type { Query } from '../syntax/query.ts'
import { bindParameters } from './bind-parameters.ts'

/** A condition that each document of the result meets: the value at the path equals `value`. */
export interface Equality {
  /** Names of properties from the document's top. */
  readonly path: readonly string[]
  readonly value: Json
}

/**
 * The conditions `path = constant` that WHERE joins by AND. Others may stand beside them, so they only
 * narrow where to look: WHERE has to be evaluated all the same.
 *
 * @throws ERR_BAD_QUERY for a parameter without a value
 */
export function equalities(query: Query, parameters?: readonly QueryParameter[]): Equality[] {
  // What the conditions outside speak of are the subquery's rows, not documents.
  if (query.from.derived !== undefined) return equalities(query.from.derived, parameters)
  if (query.where === undefined) return []
  const values = bindParameters(query, parameters)
  return conjuncts(query.where).flatMap((condition) => {
    if (condition.kind !== 'chain' || condition.rest.length !== 1) return []
    const { first, rest } = condition
    const [{ operator, operand } = { operator: '!=', operand: first }] = rest
    if (operator !== '=') return []
    return equality(first, operand, values) ?? equality(operand, first, values) ?? []
  })
}

function conjuncts(where: Expression): Expression[] {
  if (where.kind !== 'logical' || where.operator !== 'AND') return [where]
  return where.operands.flatMap(conjuncts)
}

function equality(
  side: Expression,
  constant: Expression,
  values: ReadonlyMap<string, Json>,
): Equality | undefined {
  const path = documentPath(side)
  if (path === undefined) return undefined
  const value = constant.kind === 'parameter' ? values.get(constant.name) : literalValue(constant)
  return value === undefined ? undefined : { path, value }
}

/** The names of the property that an expression stands for; undefined for what is no property of the document. */
export function documentPath(expression: Expression): readonly string[] | undefined {
  // Only the document itself: what a JOIN names is not at a path of it.
  if (expression.kind !== 'path' || expression.root.kind !== 'variable') return undefined
  if (expression.root.slot !== 0) return undefined
  const path = expression.steps.map(literalValue).filter((name) => typeof name === 'string')
  return path.length === expression.steps.length ? path : undefined
}

function literalValue(expression: Expression): Json {
  return expression.kind === 'literal' ? expression.value : undefined
}
