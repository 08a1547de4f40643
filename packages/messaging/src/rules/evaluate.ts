import { assertNever } from '@tidemark/contracts/internal'
import type {
  BinaryOperator,
  Expression,
  OtherValue,
  PropertyName,
  SqlValue,
} from './expression.ts'
import { isLike } from './like.ts'
import type { SeenProperties } from './seen-properties.ts'
import { checked64, isSameStored, sqlValue, typedText } from './sql-values.ts'
import { EvaluationError, type WorkBudget } from './work-budget.ts'

/** Longest text that `+` makes. */
const MAX_TEXT = 65_536

/** Whether a message matches. Unknown is no match (TOP-05). @throws EvaluationError */
export function evaluateFilter(filter: Expression, seen: SeenProperties): boolean {
  return evaluate(filter, seen) === true
}

/** @throws EvaluationError */
export function evaluate(expression: Expression, seen: SeenProperties): SqlValue {
  seen.budget.spend(1)
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'property':
      return propertyValue(expression.property, seen)
    case 'lookUp': {
      const name = evaluate(expression.name, seen)
      return typeof name === 'string' ? propertyValue({ kind: 'user', name }, seen) : null
    }
    case 'newId':
      return { other: { uuid: seen.newId() }, order: undefined }
    case 'exists':
      return propertyExists(expression.property, seen)
    case 'not': {
      const value = truthOf(evaluate(expression.operand, seen))
      return value === null ? null : !value
    }
    case 'negate': {
      const value = evaluate(expression.operand, seen)
      if (typeof value === 'bigint') return checked64(-value)
      return typeof value === 'number' ? -value : null
    }
    case 'isNull':
      return evaluate(expression.operand, seen) === null
    case 'in':
      return isIn(expression, seen)
    case 'like':
      return like(expression, seen)
    case 'binary':
      return binaryValue(expression, seen)
    default:
      return assertNever(expression)
  }
}

function propertyExists(property: PropertyName, seen: SeenProperties): boolean {
  return property.kind === 'system'
    ? seen.system(property.name) !== undefined
    : seen.presentName(property.name) !== undefined
}

function propertyValue(property: PropertyName, seen: SeenProperties): SqlValue {
  if (property.kind === 'system') return seen.system(property.name) ?? null
  const present = seen.presentName(property.name)
  return sqlValue(present === undefined ? undefined : seen.value(present))
}

function truthOf(value: SqlValue): boolean | null {
  return typeof value === 'boolean' ? value : null
}

function isIn(
  { operand, list }: Extract<Expression, { kind: 'in' }>,
  seen: SeenProperties,
): boolean | null {
  const value = evaluate(operand, seen)
  let result: boolean | null = false
  for (const one of list) {
    const isEqual = compare('=', value, evaluate(one, seen), seen.budget)
    if (isEqual === true) return true
    if (isEqual === null) result = null
  }
  return result
}

function like(
  { operand, pattern, escape }: Extract<Expression, { kind: 'like' }>,
  seen: SeenProperties,
): boolean | null {
  const text = evaluate(operand, seen)
  const wanted = evaluate(pattern, seen)
  const escaping = escape === undefined ? undefined : evaluate(escape, seen)
  if (typeof text !== 'string' || typeof wanted !== 'string' || escaping === null) return null
  if (
    escaping !== undefined &&
    (typeof escaping !== 'string' || Array.from(escaping).length !== 1)
  ) {
    throw new EvaluationError('ESCAPE must be one character')
  }
  return isLike(text, wanted, { escape: escaping, budget: seen.budget })
}

function binaryValue(
  { operator, left, right }: Extract<Expression, { kind: 'binary' }>,
  seen: SeenProperties,
): SqlValue {
  const value = evaluate(left, seen)
  switch (operator) {
    case 'AND': {
      const truth = truthOf(value)
      if (truth === false) return false
      const other = truthOf(evaluate(right, seen))
      return other === false ? false : truth === null || other === null ? null : true
    }
    case 'OR': {
      const truth = truthOf(value)
      if (truth === true) return true
      const other = truthOf(evaluate(right, seen))
      return other === true ? true : truth === null || other === null ? null : false
    }
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return calculate(operator, value, evaluate(right, seen), seen.budget)
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(operator, value, evaluate(right, seen), seen.budget)
    default:
      return assertNever(operator)
  }
}

/** Values of different kinds cannot be compared: that is unknown. */
function compare(
  operator: Extract<BinaryOperator, '=' | '<>' | '<' | '<=' | '>' | '>='>,
  left: SqlValue,
  right: SqlValue,
  budget: WorkBudget,
): boolean | null {
  if (left === null || right === null) return null
  const order = orderOf(left, right, budget)
  if (order === undefined) return null
  if (order === 'other') return operator === '=' ? false : operator === '<>' ? true : null
  switch (operator) {
    case '=':
      return order === 0
    case '<>':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    default:
      return assertNever(operator)
  }
}

function orderOf(
  left: NonNullable<SqlValue>,
  right: NonNullable<SqlValue>,
  budget: WorkBudget,
): number | 'other' | undefined {
  if (typeof left === 'object' || typeof right === 'object') {
    return typeof left === 'object' && typeof right === 'object'
      ? orderOfOthers(left, right, budget)
      : undefined
  }
  if (isNumber(left) && isNumber(right)) {
    if (Number.isNaN(left) || Number.isNaN(right)) return undefined
    return left < right ? -1 : left > right ? 1 : 0
  }
  if (typeof left !== typeof right) return undefined
  if (typeof left === 'string' && typeof right === 'string') {
    budget.spendOn(Math.min(left.length, right.length))
  }
  return left < right ? -1 : left > right ? 1 : 0
}

/** Dates by their instants. Anything else of one type is the same, or another without an order. */
function orderOfOthers(
  left: OtherValue,
  right: OtherValue,
  budget: WorkBudget,
): number | 'other' | undefined {
  if (left.order !== undefined && right.order !== undefined) return left.order - right.order
  if (isSameStored(left.other, right.other, budget)) return 0
  return typedText(left.other).type === typedText(right.other).type ? 'other' : undefined
}

/** Whole numbers give a whole number of 64 bits, and a double gives a double. Unknown for what is no number. */
function calculate(
  operator: '+' | '-' | '*' | '/' | '%',
  left: SqlValue,
  right: SqlValue,
  budget: WorkBudget,
): SqlValue {
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') {
    // An action could double a text with each of its steps.
    if (left.length + right.length > MAX_TEXT) {
      throw new EvaluationError(`a text has more than ${MAX_TEXT} characters`)
    }
    budget.spendOn(left.length + right.length)
    return left + right
  }
  if (!isNumber(left) || !isNumber(right)) return null
  if ((operator === '/' || operator === '%') && Number(right) === 0) {
    throw new EvaluationError('division by zero')
  }
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    return checked64(wholeResult(operator, left, right))
  }
  const [a, b] = [Number(left), Number(right)]
  return operator === '+'
    ? a + b
    : operator === '-'
      ? a - b
      : operator === '*'
        ? a * b
        : operator === '/'
          ? a / b
          : a % b
}

function wholeResult(operator: '+' | '-' | '*' | '/' | '%', a: bigint, b: bigint): bigint {
  return operator === '+'
    ? a + b
    : operator === '-'
      ? a - b
      : operator === '*'
        ? a * b
        : operator === '/'
          ? a / b
          : a % b
}

function isNumber(value: SqlValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
