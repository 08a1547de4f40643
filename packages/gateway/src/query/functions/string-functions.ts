import { isJsonArray, type Json } from '../json.ts'
import { MAX_VALUE_CHARS } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import { detached, findText, splitText } from './texts.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

/** What REPLICATE makes at most, as in the service. */
const MAX_REPLICATED_CHARS = 10_000

/** Taking a text apart by its characters takes longer than reading it. */
const CHARACTER_FACTOR = 8
const LOOKS_PER_CHARGE = 32

/** A function of one string. */
function stringFunction(evaluate: (text: string, budget: QueryBudget) => Json): SqlFunction {
  return anyFunction([1, 1], ([text], { budget }) =>
    typeof text === 'string' ? evaluate(text, budget) : undefined,
  )
}

/** A test of two strings, with a third argument `true` without regard to case. */
function stringTest(
  test: (text: string, wanted: string, budget: QueryBudget) => boolean,
): SqlFunction {
  return anyFunction([2, 3], ([text, wanted, ignoreCase], { budget }) => {
    if (typeof text !== 'string' || typeof wanted !== 'string') return undefined
    if (ignoreCase === true) return test(text.toLowerCase(), wanted.toLowerCase(), budget)
    return test(text, wanted, budget)
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
export function joinStrings(
  parts: readonly Json[],
  { separator = '', budget }: { readonly separator?: string; readonly budget: QueryBudget },
): string | undefined {
  budget.makeItems(parts.length)
  const strings = parts.filter((part) => typeof part === 'string')
  if (strings.length < parts.length) return undefined
  const chars = strings.reduce((sum, text) => sum + text.length + separator.length, 0)
  return chars > MAX_VALUE_CHARS ? undefined : strings.join(separator)
}

function replaceAll(
  text: string,
  { wanted, replacement }: { readonly wanted: string; readonly replacement: string },
  budget: QueryBudget,
): string | undefined {
  if (wanted === '') return undefined
  return joinStrings(splitText(text, wanted, budget), { separator: replacement, budget })
}

function substring(text: string, start: number, count: number): string | undefined {
  if (!Number.isInteger(start) || !Number.isInteger(count)) return undefined
  const from = Math.max(start, 0)
  return detached(text.slice(from, from + Math.max(count, 0)))
}

/** Whether a character at an end of a text is to go. */
type IsLoose = (character: string) => boolean

function trimStart(text: string, isLoose: IsLoose): string {
  let start = 0
  for (const character of text) {
    if (!isLoose(character)) break
    start += character.length
  }
  return detached(text.slice(start))
}

function trimEnd(text: string, isLoose: IsLoose): string {
  let end = text.length
  while (end > 0) {
    const character = lastCharacter(text, end)
    if (!isLoose(character)) break
    end -= character.length
  }
  return detached(text.slice(0, end))
}

/** The character before a place, both halves of a surrogate pair together. */
function lastCharacter(text: string, end: number): string {
  const unit = text.charAt(end - 1)
  const isLowHalf = unit >= '\udc00' && unit <= '\udfff' && end > 1
  return isLowHalf && (text.codePointAt(end - 2) ?? 0) > 0xffff ? text.slice(end - 2, end) : unit
}

/** Takes blanks off, or whatever characters the second argument has. */
function trimFunction(trim: (text: string, isLoose: IsLoose) => string): SqlFunction {
  return anyFunction([1, 2], ([text, ...rest], { budget }) => {
    if (typeof text !== 'string') return undefined
    const [characters] = rest
    if (rest.length > 0 && typeof characters !== 'string') return undefined
    if (typeof characters === 'string') budget.read(characters.length * CHARACTER_FACTOR)
    const loose = typeof characters === 'string' ? new Set(characters) : undefined
    let looks = 0
    return trim(text, (character) => {
      if (++looks % LOOKS_PER_CHARGE === 0) budget.read(LOOKS_PER_CHARGE * CHARACTER_FACTOR)
      return loose?.has(character) ?? character.trim() === ''
    })
  })
}

/** Functions of strings that give strings, numbers or truth values. */
export const STRING_FUNCTIONS: FunctionTable = {
  CONCAT: anyFunction([2, Infinity], (parts, { budget }) => joinStrings(parts, { budget })),
  CONTAINS: stringTest((text, wanted, budget) => findText(text, wanted, { budget }) >= 0),
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
  REVERSE: stringFunction((text, budget) => {
    budget.makeItems(text.length)
    // A text for each of them.
    budget.spend(text.length)
    return Array.from(text).reverse().join('')
  }),
  LEFT: cutFunction((text, count) => detached(text.slice(0, Math.max(count, 0)))),
  RIGHT: cutFunction((text, count) => (count > 0 ? detached(text.slice(-count)) : '')),
  REPLICATE: cutFunction((text, count) =>
    count >= 0 && text.length * count <= MAX_REPLICATED_CHARS ? text.repeat(count) : undefined,
  ),
  SUBSTRING: anyFunction([3, 3], ([text, start, count]) =>
    typeof text === 'string' && typeof start === 'number' && typeof count === 'number'
      ? substring(text, start, count)
      : undefined,
  ),
  INDEX_OF: anyFunction([2, 3], ([text, wanted, from = 0], { budget }) =>
    typeof text === 'string' && typeof wanted === 'string' && typeof from === 'number'
      ? findText(text, wanted, { from: Math.max(from, 0), budget })
      : undefined,
  ),
  REPLACE: anyFunction([3, 3], ([text, wanted, replacement], { budget }) =>
    typeof text === 'string' && typeof wanted === 'string' && typeof replacement === 'string'
      ? replaceAll(text, { wanted, replacement }, budget)
      : undefined,
  ),
  STRINGJOIN: anyFunction([2, 2], ([parts, separator], { budget }) =>
    isJsonArray(parts) && typeof separator === 'string'
      ? joinStrings(parts, { separator, budget })
      : undefined,
  ),
  STRINGSPLIT: anyFunction([2, 2], ([text, separator], { budget }) =>
    typeof text === 'string' && typeof separator === 'string' && separator !== ''
      ? splitText(text, separator, budget)
      : undefined,
  ),
}
