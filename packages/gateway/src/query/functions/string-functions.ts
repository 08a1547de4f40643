import { isJsonArray, type Json } from '../json.ts'
import { MAX_VALUE_CHARS } from '../limits.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

/** What REPLICATE makes at most, as in the service. */
const MAX_REPLICATED_CHARS = 10_000

/** A function of one string. */
function stringFunction(evaluate: (text: string) => Json): SqlFunction {
  return anyFunction([1, 1], ([text]) => (typeof text === 'string' ? evaluate(text) : undefined))
}

/** A test of two strings, with a third argument `true` without regard to case. */
function stringTest(test: (text: string, wanted: string) => boolean): SqlFunction {
  return anyFunction([2, 3], ([text, wanted, ignoreCase]) => {
    if (typeof text !== 'string' || typeof wanted !== 'string') return undefined
    if (ignoreCase === true) return test(text.toLowerCase(), wanted.toLowerCase())
    return test(text, wanted)
  })
}

/** A string and a whole number. */
function cutFunction(cut: (text: string, count: number) => Json): SqlFunction {
  return anyFunction([2, 2], ([text, count]) =>
    typeof text === 'string' && typeof count === 'number' && Number.isInteger(count)
      ? cut(text, count)
      : undefined,
  )
}

/** Joins strings; undefined when one is not a string or the result is larger than any document. */
export function joinStrings(parts: readonly Json[], separator = ''): string | undefined {
  const strings = parts.filter((part) => typeof part === 'string')
  if (strings.length < parts.length) return undefined
  const chars = strings.reduce((sum, text) => sum + text.length + separator.length, 0)
  return chars > MAX_VALUE_CHARS ? undefined : strings.join(separator)
}

function replaceAll(text: string, wanted: string, replacement: string): string | undefined {
  if (wanted === '') return undefined
  return joinStrings(text.split(wanted), replacement)
}

function substring(text: string, start: number, count: number): string | undefined {
  if (!Number.isInteger(start) || !Number.isInteger(count)) return undefined
  const from = Math.max(start, 0)
  return text.slice(from, from + Math.max(count, 0))
}

function indexOf(text: string, wanted: string, from: number): number {
  return text.indexOf(wanted, Math.max(from, 0))
}

/** Whether a character at an end of a text is to go. */
type IsLoose = (character: string) => boolean

function trimStart(text: string, isLoose: IsLoose): string {
  let start = 0
  for (const character of text) {
    if (!isLoose(character)) break
    start += character.length
  }
  return text.slice(start)
}

function trimEnd(text: string, isLoose: IsLoose): string {
  let end = text.length
  for (const character of Array.from(text).reverse()) {
    if (!isLoose(character)) break
    end -= character.length
  }
  return text.slice(0, end)
}

/** Takes blanks off, or whatever characters the second argument has. */
function trimFunction(trim: (text: string, isLoose: IsLoose) => string): SqlFunction {
  return anyFunction([1, 2], ([text, ...rest]) => {
    if (typeof text !== 'string') return undefined
    if (rest.length === 0) return trim(text, (character) => character.trim() === '')
    const [characters] = rest
    if (typeof characters !== 'string') return undefined
    const loose = new Set(characters)
    return trim(text, (character) => loose.has(character))
  })
}

/** Functions of strings that give strings, numbers or truth values. */
export const STRING_FUNCTIONS: FunctionTable = {
  CONCAT: anyFunction([2, Infinity], (parts) => joinStrings(parts)),
  CONTAINS: stringTest((text, wanted) => text.includes(wanted)),
  STARTSWITH: stringTest((text, wanted) => text.startsWith(wanted)),
  ENDSWITH: stringTest((text, wanted) => text.endsWith(wanted)),
  STRINGEQUALS: stringTest((text, wanted) => text === wanted),
  LENGTH: stringFunction((text) => text.length),
  LOWER: stringFunction((text) => text.toLowerCase()),
  UPPER: stringFunction((text) => text.toUpperCase()),
  TRIM: trimFunction((text, isLoose) => trimEnd(trimStart(text, isLoose), isLoose)),
  LTRIM: trimFunction(trimStart),
  RTRIM: trimFunction(trimEnd),
  // By code points: halves of a surrogate pair are no text.
  REVERSE: stringFunction((text) => Array.from(text).reverse().join('')),
  LEFT: cutFunction((text, count) => text.slice(0, Math.max(count, 0))),
  RIGHT: cutFunction((text, count) => (count > 0 ? text.slice(-count) : '')),
  REPLICATE: cutFunction((text, count) =>
    count >= 0 && text.length * count <= MAX_REPLICATED_CHARS ? text.repeat(count) : undefined,
  ),
  SUBSTRING: anyFunction([3, 3], ([text, start, count]) =>
    typeof text === 'string' && typeof start === 'number' && typeof count === 'number'
      ? substring(text, start, count)
      : undefined,
  ),
  INDEX_OF: anyFunction([2, 3], ([text, wanted, from = 0]) =>
    typeof text === 'string' && typeof wanted === 'string' && typeof from === 'number'
      ? indexOf(text, wanted, from)
      : undefined,
  ),
  REPLACE: anyFunction([3, 3], ([text, wanted, replacement]) =>
    typeof text === 'string' && typeof wanted === 'string' && typeof replacement === 'string'
      ? replaceAll(text, wanted, replacement)
      : undefined,
  ),
  STRINGJOIN: anyFunction([2, 2], ([parts, separator]) =>
    isJsonArray(parts) && typeof separator === 'string' ? joinStrings(parts, separator) : undefined,
  ),
  STRINGSPLIT: anyFunction([2, 2], ([text, separator]) =>
    typeof text === 'string' && typeof separator === 'string' && separator !== ''
      ? text.split(separator)
      : undefined,
  ),
}
