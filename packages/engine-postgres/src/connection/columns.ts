import { StoreDamagedError } from '@tidemark/contracts'
import type { SqlRow } from './sql.ts'

/** The text in a column. Throws `StoreDamagedError` for NULL, as do the other functions here. */
export function textColumn(row: SqlRow, index: number): string {
  const text = row[index]
  if (text === null || text === undefined) throw unexpected('a value', text, index)
  return text
}

export function nullableTextColumn(row: SqlRow, index: number): string | null {
  return row[index] ?? null
}

/** An integer or floating point column. An integer beyond 2^53 is refused, not rounded. */
export function numberColumn(row: SqlRow, index: number): number {
  const text = row[index]
  const value = text === null || text === undefined || text === '' ? Number.NaN : Number(text)
  if (!isExact(value)) throw unexpected('a number', text, index)
  return value
}

export function nullableNumberColumn(row: SqlRow, index: number): number | null {
  return row[index] === null ? null : numberColumn(row, index)
}

export function booleanColumn(row: SqlRow, index: number): boolean {
  const text = row[index]
  if (text === 't') return true
  if (text === 'f') return false
  throw unexpected('a boolean', text, index)
}

/** The numbers of `{1,2,NULL}`, an array of one dimension. */
export function numberList(text: string): (number | null)[] {
  return elements(text).map((element) => {
    if (element === 'NULL') return null
    const value = element === '' ? Number.NaN : Number(element)
    if (!isExact(value)) throw new StoreDamagedError(`not a list of numbers: ${shortened(text)}`)
    return value
  })
}

/** The booleans of `{t,f,NULL}`, an array of one dimension. */
export function booleanList(text: string): (boolean | null)[] {
  return elements(text).map((element) => {
    if (element === 't') return true
    if (element === 'f') return false
    if (element === 'NULL') return null
    throw new StoreDamagedError(`not a list of booleans: ${shortened(text)}`)
  })
}

function elements(text: string): string[] {
  if (!text.startsWith('{') || !text.endsWith('}')) {
    throw new StoreDamagedError(`not a list: ${shortened(text)}`)
  }
  return text === '{}' ? [] : text.slice(1, -1).split(',')
}

/** False for NaN, infinities and integers that a double cannot represent exactly. */
function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

function unexpected(wanted: string, text: string | null | undefined, index: number): Error {
  const found = text === undefined ? 'no column' : text === null ? 'NULL' : shortened(text)
  return new StoreDamagedError(`column ${index} should hold ${wanted}, found ${found}`)
}

function shortened(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
