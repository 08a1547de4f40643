import { assertNever } from '@tidemark/contracts'
import type { StoredValue } from '@tidemark/store/messages'
import type { MessageHead } from '../messages/message-codec.ts'
import type {
  BinaryOperator,
  Expression,
  OtherValue,
  PropertyName,
  SqlValue,
} from './expression.ts'
import { isLike, type WorkBudget } from './like.ts'

/** Longest text that `+` makes. */
const MAX_TEXT = 65_536

/** An expression that is well-formed cannot be evaluated for this message (TOP-08). */
export class EvaluationError extends Error {}

/** A message, and the work that its rules may still take. */
export interface Evaluation {
  readonly head: MessageHead
  readonly budget: WorkBudget
}

/** Whether a message matches. Unknown is no match (TOP-05). @throws EvaluationError */
export function evaluateFilter(filter: Expression, evaluation: Evaluation): boolean {
  return evaluate(filter, evaluation) === true
}

/** @throws EvaluationError */
export function evaluate(expression: Expression, evaluation: Evaluation): SqlValue {
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'property':
      return propertyValue(expression.property, evaluation.head)
    case 'exists':
      return propertyExists(expression.property, evaluation.head)
    case 'not': {
      const value = truthOf(evaluate(expression.operand, evaluation))
      return value === null ? null : !value
    }
    case 'negate': {
      const value = evaluate(expression.operand, evaluation)
      if (typeof value === 'bigint') return checked64(-value)
      return typeof value === 'number' ? -value : null
    }
    case 'isNull':
      return evaluate(expression.operand, evaluation) === null
    case 'in':
      return isIn(expression, evaluation)
    case 'like':
      return like(expression, evaluation)
    case 'binary':
      return binaryValue(expression, evaluation)
    default:
      return assertNever(expression)
  }
}

function propertyExists(property: PropertyName, head: MessageHead): boolean {
  return property.kind === 'system'
    ? head[property.name] !== undefined
    : storedValue(property.name, head) !== undefined
}

function propertyValue(property: PropertyName, head: MessageHead): SqlValue {
  if (property.kind === 'system') return head[property.name] ?? null
  return sqlValue(storedValue(property.name, head))
}

function storedValue(name: string, head: MessageHead): StoredValue | undefined {
  const present = presentName(name, head)
  return present === undefined ? undefined : head.properties?.[present]
}

/**
 * The application property that a filter or an action means: names are compared as they are, and without regard to case if
 * none is exactly the same. Undefined: there is none.
 */
export function presentName(
  name: string,
  { properties = {} }: Pick<MessageHead, 'properties'>,
): string | undefined {
  if (Object.hasOwn(properties, name)) return name
  const lower = name.toLowerCase()
  return Object.keys(properties).find((other) => other.toLowerCase() === lower)
}

function sqlValue(value: StoredValue | undefined): SqlValue {
  if (value === undefined || value === null || typeof value !== 'object') return value ?? null
  const { long, date, double } = value
  if (typeof long === 'string') return BigInt(long)
  if (typeof double === 'string') return Number(double)
  return { other: value, order: typeof date === 'number' ? date : undefined }
}

function truthOf(value: SqlValue): boolean | null {
  return typeof value === 'boolean' ? value : null
}

function isIn(
  { operand, list }: Extract<Expression, { kind: 'in' }>,
  evaluation: Evaluation,
): boolean | null {
  const value = evaluate(operand, evaluation)
  let result: boolean | null = false
  for (const one of list) {
    const isEqual = compare('=', value, evaluate(one, evaluation))
    if (isEqual === true) return true
    if (isEqual === null) result = null
  }
  return result
}

function like(
  { operand, pattern, escape }: Extract<Expression, { kind: 'like' }>,
  evaluation: Evaluation,
): boolean | null {
  const text = evaluate(operand, evaluation)
  const wanted = evaluate(pattern, evaluation)
  const escaping = escape === undefined ? undefined : evaluate(escape, evaluation)
  if (typeof text !== 'string' || typeof wanted !== 'string' || escaping === null) return null
  if (
    escaping !== undefined &&
    (typeof escaping !== 'string' || Array.from(escaping).length !== 1)
  ) {
    throw new EvaluationError('ESCAPE must be one character')
  }
  const result = isLike(text, wanted, { escape: escaping, budget: evaluation.budget })
  if (result === undefined) throw new EvaluationError('LIKE takes too long')
  return result
}

function binaryValue(
  { operator, left, right }: Extract<Expression, { kind: 'binary' }>,
  evaluation: Evaluation,
): SqlValue {
  const value = evaluate(left, evaluation)
  switch (operator) {
    case 'AND': {
      const truth = truthOf(value)
      if (truth === false) return false
      const other = truthOf(evaluate(right, evaluation))
      return other === false ? false : truth === null || other === null ? null : true
    }
    case 'OR': {
      const truth = truthOf(value)
      if (truth === true) return true
      const other = truthOf(evaluate(right, evaluation))
      return other === true ? true : truth === null || other === null ? null : false
    }
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return calculate(operator, value, evaluate(right, evaluation))
    case '=':
    case '<>':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(operator, value, evaluate(right, evaluation))
    default:
      return assertNever(operator)
  }
}

/** Values of different kinds cannot be compared: that is unknown. */
function compare(
  operator: Extract<BinaryOperator, '=' | '<>' | '<' | '<=' | '>' | '>='>,
  left: SqlValue,
  right: SqlValue,
): boolean | null {
  if (left === null || right === null) return null
  const order = orderOf(left, right)
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

function orderOf(left: NonNullable<SqlValue>, right: NonNullable<SqlValue>): number | undefined {
  if (typeof left === 'object' || typeof right === 'object') {
    return typeof left === 'object' && typeof right === 'object'
      ? orderOfOthers(left, right)
      : undefined
  }
  if (isNumber(left) && isNumber(right)) {
    if (Number.isNaN(left) || Number.isNaN(right)) return undefined
    return left < right ? -1 : left > right ? 1 : 0
  }
  if (typeof left !== typeof right) return undefined
  return left < right ? -1 : left > right ? 1 : 0
}

/** Dates by their instants; anything else can only be the same. */
function orderOfOthers(left: OtherValue, right: OtherValue): number | undefined {
  if (left.order !== undefined && right.order !== undefined) return left.order - right.order
  return JSON.stringify(left.other) === JSON.stringify(right.other) ? 0 : undefined
}

/** On whole numbers of 64 bits exactly, as soon as one is one. Unknown for what is no number. */
function calculate(
  operator: '+' | '-' | '*' | '/' | '%',
  left: SqlValue,
  right: SqlValue,
): SqlValue {
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') {
    // An action could double a text with each of its steps.
    if (left.length + right.length > MAX_TEXT) {
      throw new EvaluationError(`a text has more than ${MAX_TEXT} characters`)
    }
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
