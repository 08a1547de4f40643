import { assertNever } from '@tidemark/contracts/internal'
import { BadQueryError } from '../bad-query-error.ts'
import { INDEX_NAME_PLACES } from '../../protocol/survey-json.ts'
import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import type {
  CallExpression,
  Expression,
  PathExpression,
  SubqueryExpression,
  UnaryExpression,
} from '../syntax/expression.ts'
import { deepEquals, sqlCompare } from '../values/compare.ts'
import type { QueryBudget } from '../query-budget.ts'
import { shown } from '../values/shown.ts'
import { matchesLikePattern, parseLikePattern, type LikePattern } from '../values/like-pattern.ts'
import { applyOperator } from './operators.ts'
import { computedOf, type RowEnvironment } from './row-environment.ts'

type LikeExpression = Extract<Expression, { kind: 'like' }>

/**
 * The value of an expression in a row; undefined when it has none.
 *
 * @throws ERR_BAD_QUERY for a subquery with several rows, and where a value breaks a limit; ERR_QUERY_TOO_COSTLY
 */
export function evaluate(expression: Expression, row: RowEnvironment): Json {
  row.budget.step()
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'parameter':
      return row.parameters.get(expression.name)
    case 'variable':
      return row.slots[expression.slot]
    case 'path':
      return evaluatePath(expression, row)
    case 'unary':
      return evaluateUnary(expression, row)
    case 'chain': {
      let value = evaluate(expression.first, row)
      for (const { operator, operand } of expression.rest) {
        value = applyOperator(operator, [value, evaluate(operand, row)], row.budget)
      }
      return value
    }
    case 'logical':
      return evaluateLogical(expression.operator === 'OR', expression.operands, row)
    case 'conditional':
      return evaluate(expression.condition, row) === true
        ? evaluate(expression.whenTrue, row)
        : evaluate(expression.otherwise, row)
    case 'between':
    case 'in':
    case 'like':
      return evaluatePredicate(expression, row)
    case 'call':
      return evaluateCall(expression, row)
    case 'array':
      row.budget.makeItems(expression.items.length + HOLDER_ITEMS)
      return expression.items
        .map((item) => evaluate(item, row))
        .filter((item) => item !== undefined)
    case 'object':
      return objectOf(expression.properties, row)
    case 'subquery':
      return evaluateSubquery(expression, row)
    case 'result':
      return (expression.of === 'group' ? row.groupValues : row.aggregateValues)[expression.index]
    case 'aggregate':
      throw new BadQueryError(`${expression.name} cannot stand here`)
    default:
      return assertNever(expression)
  }
}

/** Memory of an array or object beside what it holds, in places of an array. */
const HOLDER_ITEMS = 2

/** Engines keep an object with such a name as a dictionary. */
const INDEX_NAME = /^\d{1,10}$/

/** An object of the named values that are defined; own properties only, whatever their names are. */
export function objectOf(
  properties: readonly { readonly name: string; readonly value: Expression }[],
  row: RowEnvironment,
): Json {
  let items = properties.length + HOLDER_ITEMS
  for (const { name } of properties) if (INDEX_NAME.test(name)) items += INDEX_NAME_PLACES
  row.budget.makeItems(items)
  return Object.fromEntries(
    properties
      .map(({ name, value }) => [name, evaluate(value, row)] as const)
      .filter(([, value]) => value !== undefined),
  )
}

/** Charges what functions have in common: texts that they read, a text or an array that they make. */
function evaluateCall({ function: called, operands }: CallExpression, row: RowEnvironment): Json {
  const { budget } = row
  const values = operands.map((operand) => evaluate(operand, row))
  for (const value of values) if (typeof value === 'string') budget.read(value.length)
  const result = called.evaluate(values, row)
  if (typeof result === 'string') budget.make(result.length)
  else if (isJsonArray(result)) budget.makeItems(result.length)
  return result
}

function evaluatePath(path: PathExpression, row: RowEnvironment): Json {
  const { root, steps } = path
  const computed = computedOf(path, row)
  let value = computed === undefined ? evaluate(root, row) : computed(row.slots[0])
  for (const step of computed === undefined ? steps : steps.slice(1)) {
    value = memberOf(value, evaluate(step, row))
  }
  return value
}

function memberOf(value: Json, step: Json): Json {
  if (typeof step === 'string') {
    return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return typeof step === 'number' && isJsonArray(value) ? value[step] : undefined
}

function evaluateUnary({ operator, operand }: UnaryExpression, row: RowEnvironment): Json {
  const value = evaluate(operand, row)
  if (operator === 'NOT') return typeof value === 'boolean' ? !value : undefined
  if (typeof value !== 'number') return undefined
  if (operator === '~') return ~value
  return operator === '-' ? -value : value
}

/**
 * AND and OR with undefined as the third truth value: a value that decides (false for AND, true for OR)
 * wins over it. Anything but a truth value counts as undefined.
 */
function evaluateLogical(
  deciding: boolean,
  operands: readonly Expression[],
  row: RowEnvironment,
): boolean | undefined {
  let known = true
  for (const operand of operands) {
    const value = evaluate(operand, row)
    if (value === deciding) return deciding
    known &&= typeof value === 'boolean'
  }
  return known ? !deciding : undefined
}

function evaluatePredicate(
  expression: Extract<Expression, { kind: 'between' | 'in' | 'like' }>,
  row: RowEnvironment,
): boolean | undefined {
  const value = evaluate(expression.value, row)
  if (expression.kind === 'between') {
    return isBetween(
      value,
      [evaluate(expression.low, row), evaluate(expression.high, row)],
      row.budget,
    )
  }
  if (expression.kind === 'like') {
    const pattern = likePattern(expression, row)
    if (typeof value !== 'string' || pattern === undefined) return undefined
    return matchesLikePattern(value, pattern, row.budget)
  }
  if (value === undefined) return undefined
  return expression.list.some((item) => deepEquals(evaluate(item, row), value, row.budget))
}

function isBetween(
  value: Json,
  [low, high]: readonly [low: Json, high: Json],
  budget: QueryBudget,
): boolean | undefined {
  const fromLow = sqlCompare(value, low, budget)
  const toHigh = sqlCompare(value, high, budget)
  // As `value >= low AND value <= high`: one side that fails decides, whatever the other is.
  if ((fromLow !== undefined && fromLow < 0) || (toHigh !== undefined && toHigh > 0)) return false
  return fromLow === undefined || toHigh === undefined ? undefined : true
}

/** Patterns that a query's text spells out, read once for all rows. */
const constantPatterns = new WeakMap<LikeExpression, LikePattern>()

function likePattern(expression: LikeExpression, row: RowEnvironment): LikePattern | undefined {
  const known = constantPatterns.get(expression)
  if (known !== undefined) return known
  const pattern = evaluate(expression.pattern, row)
  const escape = expression.escape && evaluate(expression.escape, row)
  if (escape !== undefined && (typeof escape !== 'string' || escape.length !== 1)) {
    throw new BadQueryError(`ESCAPE takes one character, got ${shown(escape)}`)
  }
  if (typeof pattern !== 'string') return undefined
  const parsed = parseLikePattern(pattern, escape, row.budget)
  const isConstant = [expression.pattern, expression.escape].every(
    (part) => part === undefined || part.kind === 'literal',
  )
  if (isConstant) constantPatterns.set(expression, parsed)
  return parsed
}

function evaluateSubquery({ form, query }: SubqueryExpression, row: RowEnvironment): Json {
  if (form === 'exists') return row.rowsOf(query, 1).length > 0
  if (form === 'array') return row.rowsOf(query, Infinity)
  const rows = row.rowsOf(query, 2)
  if (rows.length > 1)
    throw new BadQueryError('a subquery that stands for one value gave several rows')
  return rows[0]
}
