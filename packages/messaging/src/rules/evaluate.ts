import { assertNever } from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/store/messages'
import type {
  BinaryOperator,
  Expression,
  OtherValue,
  PropertyName,
  SqlValue,
} from './expression.ts'
import { isLike } from './like.ts'
import type { SeenProperties } from './seen-properties.ts'
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

function sqlValue(value: StoredValue | undefined): SqlValue {
  if (value === undefined || value === null || typeof value !== 'object') return value ?? null
  const { date } = value
  return typeof date === 'number'
    ? { other: value, order: date }
    : (numberIn(value) ?? { other: value, order: undefined })
}

/** Of a stored value with a type of numbers, also one that only a front for a protocol knows. Decimals are none. */
export function numberIn(value: Readonly<Record<string, unknown>>): number | bigint | undefined {
  const [[type, inner] = ['', undefined]] = Object.entries(value)
  if (typeof inner === 'number') return type === 'date' ? undefined : inner
  if (typeof inner !== 'string') return undefined
  if (type === 'long' || type === 'ulong') return BigInt(inner)
  return type === 'double' ? Number(inner) : undefined
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
): number | undefined {
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

/** Dates by their instants; anything else can only be the same. */
function orderOfOthers(
  left: OtherValue,
  right: OtherValue,
  budget: WorkBudget,
): number | undefined {
  if (left.order !== undefined && right.order !== undefined) return left.order - right.order
  return isSameStored(left.other, right.other, budget) ? 0 : undefined
}

/** Of the budget, to take two such values apart. */
const TYPED_STEPS = 10

/** Bytes, or values of a type that only a front for a protocol knows. */
export function isSameStored(
  left: StoredValue | undefined,
  right: StoredValue | undefined,
  budget: WorkBudget,
): boolean {
  budget.spend(TYPED_STEPS)
  const [a, b] = [typedText(left), typedText(right)]
  if (a.type !== b.type || a.text.length !== b.text.length) return false
  budget.spendOn(a.text.length)
  return a.text === b.text
}

/** The text in a value is as it is, however long: nothing is copied for a comparison. */
export function typedText(value: StoredValue | undefined): {
  readonly type: string
  readonly text: string
} {
  const [[type, text] = ['', value]] =
    typeof value === 'object' && value !== null ? Object.entries(value) : []
  return { type, text: typeof text === 'string' ? text : String(JSON.stringify(value)) }
}

/** On whole numbers of 64 bits exactly, as soon as one is one. Unknown for what is no number. */
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
  if (typeof left === 'bigint' || typeof right === 'bigint') {
    const [a, b] = [wholeOf(left), wholeOf(right)]
    if (a !== undefined && b !== undefined) return checked64(wholeResult(operator, a, b))
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

function wholeOf(value: number | bigint): bigint | undefined {
  if (typeof value === 'bigint') return value
  return Number.isSafeInteger(value) ? BigInt(value) : undefined
}

/** @throws EvaluationError */
export function checked64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value
  throw new EvaluationError('a whole number does not fit into 64 bits')
}

function isNumber(value: SqlValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
