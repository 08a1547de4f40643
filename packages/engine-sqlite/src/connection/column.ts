import { StoreDamagedError } from '@tidemark/contracts'
import type { SQLOutputValue } from 'node:sqlite'

/** One row in the form of `setReturnArrays(true)`. */
export type Row = readonly SQLOutputValue[]

/** Column readers: they check what SQLite returns where it enters, and throw `StoreDamagedError`. */
export function numberColumn(row: Row, index: number): number {
  const value = row[index]
  if (typeof value !== 'number') throw unexpected('a number', value, index)
  return value
}

export function textColumn(row: Row, index: number): string {
  const value = row[index]
  if (typeof value !== 'string') throw unexpected('text', value, index)
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
  if (!(value instanceof Uint8Array)) throw unexpected('bytes', value, index)
  return value
}

function unexpected(wanted: string, found: unknown, index: number): StoreDamagedError {
  return new StoreDamagedError(`column ${index} of a row is ${typeof found}, not ${wanted}`)
}
