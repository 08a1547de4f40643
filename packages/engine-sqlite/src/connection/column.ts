import assert from 'node:assert/strict'
import type { SQLOutputValue } from 'node:sqlite'

/** One row in the form of `setReturnArrays(true)`. */
export type Row = readonly SQLOutputValue[]

/** Column readers: they check what SQLite returns where it enters. */
export function numberColumn(row: Row, index: number): number {
  const value = row[index]
  assert(typeof value === 'number', `column ${index} is ${typeof value}, not a number`)
  return value
}

export function textColumn(row: Row, index: number): string {
  const value = row[index]
  assert(typeof value === 'string', `column ${index} is ${typeof value}, not text`)
  return value
}

/** Undefined for NULL. */
export function numberIfAny(row: Row, index: number): number | undefined {
  return row[index] === null ? undefined : numberColumn(row, index)
}

/** Undefined for NULL. */
export function textIfAny(row: Row, index: number): string | undefined {
  return row[index] === null ? undefined : textColumn(row, index)
}

/** Undefined for NULL. */
export function bytesIfAny(row: Row, index: number): Uint8Array | undefined {
  const value = row[index]
  if (value === null) return undefined
  assert(value instanceof Uint8Array, `column ${index} is ${typeof value}, not bytes`)
  return value
}
