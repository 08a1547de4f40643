import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { MAX_VALUE_DEPTH } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'

/** JSON types in the order in which ORDER BY, MIN and MAX put them. */
export const TYPE_RANK = {
  undefined: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  array: 5,
  object: 6,
} as const

export type JsonTypeRank = (typeof TYPE_RANK)[keyof typeof TYPE_RANK]

export function typeRank(value: Json): JsonTypeRank {
  switch (typeof value) {
    case 'undefined':
      return TYPE_RANK.undefined
    case 'boolean':
      return TYPE_RANK.boolean
    case 'number':
      return TYPE_RANK.number
    case 'string':
      return TYPE_RANK.string
    default:
      if (value === null) return TYPE_RANK.null
      return isJsonArray(value) ? TYPE_RANK.array : TYPE_RANK.object
  }
}

/** True for null, booleans, numbers and strings. */
export function isPrimitive(value: Json): value is null | boolean | number | string {
  const rank = typeRank(value)
  return rank !== TYPE_RANK.undefined && rank < TYPE_RANK.array
}

/**
 * `=`: undefined when a side is undefined, false for values of different types. The service's table of
 * comparisons says undefined for the latter, but its own reference interpreter and the clients that
 * write `c.x != null` for numbers go by this.
 */
export function sqlEquals(left: Json, right: Json, budget: QueryBudget): boolean | undefined {
  if (left === undefined || right === undefined) return undefined
  return deepEquals(left, right, budget)
}

/** Of two arrays or objects, beside what they hold. */
const OBJECT_STEPS = 5

/** Deep equality; the order of an object's properties does not count. Undefined equals undefined. */
export function deepEquals(left: Json, right: Json, budget: QueryBudget, depth = 0): boolean {
  budget.step()
  if (typeof left === 'string' && typeof right === 'string') {
    // Only then the engine has to look at their characters.
    if (left.length === right.length) budget.read(left.length)
    return left === right
  }
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  budget.spend(OBJECT_STEPS)
  if (depth > MAX_VALUE_DEPTH)
    throw new BadQueryError('a value is nested too deeply to be compared')
  if (isJsonArray(left)) {
    return (
      isJsonArray(right) &&
      left.length === right.length &&
      left.every((item, index) => deepEquals(item, right[index], budget, depth + 1))
    )
  }
  return isJsonObject(left) && isJsonObject(right) && objectsEqual(left, right, { budget, depth })
}

/** Of large objects: how many properties they have, so that listing them again is charged before it is done. */
const nameCounts = new WeakMap<JsonObject, number>()
const MANY_NAMES = 64
const NAME_STEPS = 3

/** The names of an object's properties. */
export function namesOf(object: JsonObject, budget: QueryBudget): string[] {
  const known = nameCounts.get(object)
  if (known !== undefined) budget.spend(known * NAME_STEPS)
  const names = Object.keys(object)
  if (known !== undefined) return names
  if (names.length >= MANY_NAMES) nameCounts.set(object, names.length)
  budget.spend(names.length * NAME_STEPS)
  return names
}

function objectsEqual(
  left: JsonObject,
  right: JsonObject,
  { budget, depth }: { readonly budget: QueryBudget; readonly depth: number },
): boolean {
  const names = namesOf(left, budget)
  return (
    names.length === namesOf(right, budget).length &&
    names.every(
      (name) =>
        Object.hasOwn(right, name) && deepEquals(left[name], right[name], budget, depth + 1),
    )
  )
}

/**
 * Negative, 0 or positive for two values of the same primitive type; undefined for everything else:
 * `<` and the like have no result over types, arrays and objects.
 */
export function sqlCompare(left: Json, right: Json, budget: QueryBudget): number | undefined {
  const rank = typeRank(left)
  if (rank !== typeRank(right) || !isPrimitive(left)) return undefined
  if (typeof left === 'string' && typeof right === 'string') {
    budget.read(Math.min(left.length, right.length))
  }
  return comparePrimitives(left, right)
}

/** Of two values of the same primitive type. Strings by their UTF-16 units. */
export function comparePrimitives(left: Json, right: Json): number {
  if (left === right) return 0
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : 1
  return Number(left) - Number(right) < 0 ? -1 : 1
}
