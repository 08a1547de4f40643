import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { comparePrimitives, isPrimitive, typeRank, TYPE_RANK } from './compare.ts'
import type { QueryBudget } from '../query-budget.ts'
import { valueHash } from './value-hash.ts'

/**
 * What ORDER BY keeps of a value: primitives as they are, arrays and objects as a hash, because the
 * service too orders these only so that equal ones stand together.
 */
export type SortValue = PrimitiveSortValue | HashedSortValue

export type PrimitiveSortValue = undefined | null | boolean | number | string

export interface HashedSortValue {
  readonly rank: typeof TYPE_RANK.array | typeof TYPE_RANK.object
  readonly hash: string
}

export function sortValue(value: Json, budget: QueryBudget): SortValue {
  if (isJsonArray(value)) return { rank: TYPE_RANK.array, hash: valueHash(value, budget) }
  if (isJsonObject(value)) return { rank: TYPE_RANK.object, hash: valueHash(value, budget) }
  if (typeof value === 'string') budget.read(value.length)
  return value
}

export function isHashed(value: SortValue): value is HashedSortValue {
  return typeof value === 'object' && value !== null
}

/** undefined < null < booleans < numbers < strings < arrays < objects. */
export function compareSortValues(left: SortValue, right: SortValue): number {
  const leftRank = isHashed(left) ? left.rank : typeRank(left)
  const rightRank = isHashed(right) ? right.rank : typeRank(right)
  if (leftRank !== rightRank) return leftRank - rightRank
  if (isHashed(left) && isHashed(right)) return comparePrimitives(left.hash, right.hash)
  if (isHashed(left) || isHashed(right) || !isPrimitive(left)) return 0
  return comparePrimitives(left, right)
}
