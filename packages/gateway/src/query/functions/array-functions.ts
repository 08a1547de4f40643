import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { MAX_VALUE_CHARS, MAX_VALUE_DEPTH } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import { deepEquals, namesOf } from '../values/compare.ts'
import { valueKey } from '../values/value-hash.ts'
import { anyFunction, type FunctionTable, type SqlFunction } from './sql-function.ts'

/**
 * True when `item` has every property of `wanted` with a value that matches, in arrays place by place; other types
 * must be equal.
 */
function matchesPartially(item: Json, wanted: Json, budget: QueryBudget, depth = 0): boolean {
  budget.step()
  if (depth > MAX_VALUE_DEPTH)
    throw new BadQueryError('a value is nested too deeply to be compared')
  if (isJsonArray(item) && isJsonArray(wanted)) {
    return (
      item.length === wanted.length &&
      item.every((part, index) => matchesPartially(part, wanted[index], budget, depth + 1))
    )
  }
  if (!isJsonObject(item) || !isJsonObject(wanted)) return deepEquals(item, wanted, budget)
  return namesOf(wanted, budget).every(
    (name) =>
      Object.hasOwn(item, name) && matchesPartially(item[name], wanted[name], budget, depth + 1),
  )
}

function arrayContains(
  array: Json,
  wanted: Json,
  { partial = false, budget }: { readonly partial?: Json; readonly budget: QueryBudget },
): boolean | undefined {
  if (!isJsonArray(array)) return undefined
  if (wanted === undefined) return false
  return array.some((item) =>
    partial === true ? matchesPartially(item, wanted, budget) : deepEquals(item, wanted, budget),
  )
}

/** Negative starts count from the end. */
function arraySlice(array: Json, start: Json, count: Json): Json {
  if (!isJsonArray(array) || !Number.isInteger(start) || !Number.isInteger(count)) return undefined
  const from = Number(start) < 0 ? Math.max(array.length + Number(start), 0) : Number(start)
  return array.slice(from, from + Math.max(Number(count), 0))
}

function containsFunction(all: 'all' | 'any'): SqlFunction {
  return anyFunction([2, Infinity], ([array, ...wanted], { budget }) => {
    if (!isJsonArray(array)) return undefined
    const has = (value: Json): boolean => arrayContains(array, value, { budget }) === true
    return all === 'all' ? wanted.every(has) : wanted.some(has)
  })
}

/** Memory of an entry of a map with its key, in places of an array. */
const ENTRY_ITEMS = 10

/** Each value once, where it came first, by its key. */
function distinctItems(items: readonly Json[], budget: QueryBudget): ReadonlyMap<string, Json> {
  const byKey = new Map<string, Json>()
  for (const item of items) {
    const key = valueKey(item, budget)
    if (byKey.has(key)) continue
    budget.makeItems(ENTRY_ITEMS)
    byKey.set(key, item)
  }
  return byKey
}

function setFunction(
  combine: (left: readonly Json[], right: readonly Json[], budget: QueryBudget) => Json,
): SqlFunction {
  return anyFunction([2, 2], ([left, right], { budget }) =>
    isJsonArray(left) && isJsonArray(right) ? combine(left, right, budget) : undefined,
  )
}

/** Memory of an object of two properties, in places of an array. */
const PAIR_ITEMS = 6

/** Functions of arrays. */
export const ARRAY_FUNCTIONS: FunctionTable = {
  ARRAY_CONCAT: anyFunction([2, Infinity], (arrays, { budget }) => {
    const items: Json[] = []
    for (const array of arrays) {
      if (!isJsonArray(array) || items.length + array.length > MAX_VALUE_CHARS) return undefined
      budget.makeItems(array.length)
      for (const item of array) items.push(item)
    }
    return items
  }),
  ARRAY_CONTAINS: anyFunction([2, 3], ([array, wanted, partial], { budget }) =>
    arrayContains(array, wanted, { partial, budget }),
  ),
  ARRAY_CONTAINS_ALL: containsFunction('all'),
  ARRAY_CONTAINS_ANY: containsFunction('any'),
  ARRAY_LENGTH: anyFunction([1, 1], ([array]) => (isJsonArray(array) ? array.length : undefined)),
  ARRAY_SLICE: anyFunction([2, 3], ([array, start, count = Number.MAX_SAFE_INTEGER]) =>
    arraySlice(array, start, count),
  ),
  SETINTERSECT: setFunction((left, right, budget) => {
    const wanted = distinctItems(right, budget)
    const items = [...distinctItems(left, budget)].filter(([key]) => wanted.has(key))
    return items.map(([, item]) => item)
  }),
  SETUNION: setFunction((left, right, budget) => {
    budget.makeItems(left.length + right.length)
    return [...distinctItems([...left, ...right], budget).values()]
  }),
  OBJECTTOARRAY: anyFunction([1, 3], ([object, keyName = 'k', valueName = 'v'], { budget }) => {
    if (!isJsonObject(object)) return undefined
    if (typeof keyName !== 'string' || typeof valueName !== 'string') return undefined
    const names = namesOf(object, budget)
    budget.makeItems(names.length * PAIR_ITEMS)
    return names.map((name) =>
      Object.fromEntries([
        [keyName, name],
        [valueName, object[name]],
      ]),
    )
  }),
}
