import type { StoredValue } from '@tidemark/store/messages'
import { decimalText } from '../messages/decimals.ts'
import type { SqlValue } from './expression.ts'
import { EvaluationError, type WorkBudget } from './work-budget.ts'

/** A property or parameter as expressions see it: whole numbers are of 64 bits, any other number is a double. */
export function sqlValue(value: StoredValue | undefined): SqlValue {
  if (typeof value === 'number') return wholeOr(value)
  if (value === undefined || value === null || typeof value !== 'object') return value ?? null
  const { date } = value
  if (typeof date === 'number') return { other: value, order: date }
  const text = textIn(value)
  if (text !== undefined) return text
  const number = numberIn(value)
  if (number === undefined) return { other: value, order: undefined }
  return typeof number === 'number' && isWholeKind(value) ? wholeOr(number) : number
}

/** Of a text, or of a symbol or character, which only a front for a protocol knows. */
export function textIn(value: StoredValue | undefined): string | undefined {
  const text = typeof value === 'object' ? (value?.['symbol'] ?? value?.['char']) : value
  return typeof text === 'string' ? text : undefined
}

/** As an action stores it. */
export function storedOf(value: SqlValue): StoredValue {
  if (typeof value === 'object') return value === null ? null : value.other
  if (typeof value === 'bigint') {
    const number = Number(checked64(value))
    return Number.isSafeInteger(number) ? { int64: number } : { long: String(value) }
  }
  if (typeof value !== 'number') return value
  if (Object.is(value, -0)) return { double: '-0' }
  if (!Number.isFinite(value)) return { double: String(value) }
  return Number.isInteger(value) ? { float64: value } : value
}

/** Of a stored value with a type of numbers, also one that only a front for a protocol knows. */
export function numberIn(value: Readonly<Record<string, unknown>>): number | bigint | undefined {
  const [[type, inner] = ['', undefined]] = Object.entries(value)
  if (typeof inner === 'number') return type === 'date' ? undefined : inner
  if (typeof inner !== 'string') return undefined
  if (type === 'long' || type === 'ulong') return BigInt(inner)
  if (type === 'double') return Number(inner)
  return type.startsWith('decimal') ? Number(decimalText(inner)) : undefined
}

/** @throws EvaluationError */
export function checked64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) === value) return value
  throw new EvaluationError('a whole number does not fit into 64 bits')
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

function isWholeKind(value: Readonly<Record<string, unknown>>): boolean {
  return !('float' in value || 'float64' in value)
}

function wholeOr(number: number): number | bigint {
  return Number.isSafeInteger(number) ? BigInt(number) : number
}
