import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'
import { valueChars } from '../values/value-size.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

/** What a character of JSON can become, `[` for one: an array of its own. */
const PARSED_FACTOR = 8
/** Arrays within arrays take longest. */
const PARSED_CHARS_PER_STEP = 2
/** Numbers of a million digits take longer than texts. */
const DIGITS_PER_STEP = 4
const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** What is written in a string as JSON, if it is of the wanted type; else undefined. */
function parsedFunction(isWanted: (value: Json) => boolean): SqlFunction {
  return anyFunction([1, 1], ([text], { budget }) => {
    if (typeof text !== 'string') return undefined
    budget.make(text.length * PARSED_FACTOR)
    budget.spend(Math.ceil(text.length / PARSED_CHARS_PER_STEP))
    const value = parsedJson(text.trim())
    return isWanted(value) ? value : undefined
  })
}

function parsedJson(text: string): Json {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- what JSON.parse gives is JSON
    const value: Json = JSON.parse(text)
    return value
  } catch {
    // Not JSON: the function's result is undefined, as the service documents.
    return undefined
  }
}

function toText(value: Json, budget: QueryBudget): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  valueChars(value, budget)
  return JSON.stringify(value)
}

/** Functions from strings to other types and back. */
export const CONVERSION_FUNCTIONS: FunctionTable = {
  TOSTRING: anyFunction([1, 1], ([value], { budget }) => toText(value, budget)),
  STRINGTOARRAY: parsedFunction(isJsonArray),
  STRINGTOOBJECT: parsedFunction(isJsonObject),
  STRINGTOBOOLEAN: parsedFunction((value) => typeof value === 'boolean'),
  STRINGTONULL: parsedFunction((value) => value === null),
  STRINGTONUMBER: anyFunction([1, 1], ([text], { budget }) => {
    if (typeof text !== 'string') return undefined
    budget.spend(Math.ceil(text.length / DIGITS_PER_STEP))
    if (!NUMBER_TEXT.test(text.trim())) return undefined
    const value = Number(text)
    return Number.isFinite(value) ? value : undefined
  }),
}
