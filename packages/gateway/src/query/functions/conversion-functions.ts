import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { valueChars } from '../values/value-size.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** What is written in a string as JSON, if it is of the wanted type; else undefined. */
function parsedFunction(isWanted: (value: Json) => boolean): SqlFunction {
  return anyFunction([1, 1], ([text]) => {
    if (typeof text !== 'string') return undefined
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

function toText(value: Json): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  valueChars(value)
  return JSON.stringify(value)
}

/** Functions from strings to other types and back. */
export const CONVERSION_FUNCTIONS: FunctionTable = {
  TOSTRING: anyFunction([1, 1], ([value]) => toText(value)),
  STRINGTOARRAY: parsedFunction(isJsonArray),
  STRINGTOOBJECT: parsedFunction(isJsonObject),
  STRINGTOBOOLEAN: parsedFunction((value) => typeof value === 'boolean'),
  STRINGTONULL: parsedFunction((value) => value === null),
  STRINGTONUMBER: anyFunction([1, 1], ([text]) => {
    if (typeof text !== 'string' || !NUMBER_TEXT.test(text.trim())) return undefined
    const value = Number(text)
    return Number.isFinite(value) ? value : undefined
  }),
}
