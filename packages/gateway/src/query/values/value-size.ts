import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { MAX_VALUE_CHARS, MAX_VALUE_DEPTH } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'

/** What is measured is written as JSON afterwards. */
const WRITE_FACTOR = 4

/**
 * About the characters of a value as JSON. A row can hold one value many times over, and so be far
 * larger than what it was made of.
 *
 * @throws ERR_BAD_QUERY above the limit, without walking further
 */
export function valueChars(value: Json, budget: QueryBudget): number {
  const chars = addChars(value, 0, 0)
  budget.read(chars * WRITE_FACTOR)
  return chars
}

export function rowTooLarge(): BadQueryError {
  return new BadQueryError(`a row of the query is larger than ${MAX_VALUE_CHARS} characters`)
}

function addChars(value: Json, before: number, depth: number): number {
  let chars = before + (typeof value === 'string' ? value.length + 2 : 5)
  if (chars > MAX_VALUE_CHARS) {
    throw rowTooLarge()
  }
  if (depth > MAX_VALUE_DEPTH) throw new BadQueryError('a value of the query is nested too deeply')
  if (isJsonArray(value)) {
    for (const item of value) chars = addChars(item, chars, depth + 1)
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value)) {
      chars = addChars(value[name], chars + name.length + 3, depth + 1)
    }
  }
  return chars
}
