import { murmur3x64 } from '@tidemark/contracts/internal'
import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, isJsonObject, type Json } from '../json.ts'
import { MAX_VALUE_DEPTH } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'
import { namesOf } from './compare.ts'

const encoder = new TextEncoder()

/** Steps of a value beside its characters: its place in the text. */
const NODE_STEPS = 3
/** Of an array or object, beside what it holds. */
const HOLDER_STEPS = 12
/** Steps of a hash, however short its text is. */
const HASH_STEPS = 40
/** Texts that are as good as their hash. */
const SHORT_CHARS = 64
/** Hashing takes longer than reading. */
const HASH_FACTOR = 4

/** 128 bits as 32 hex digits; equal exactly for values that are equal (with the certainty of a hash). */
export function valueHash(value: Json, budget: QueryBudget): string {
  budget.spend(HASH_STEPS)
  return textHash(canonicalText(value, budget, 0))
}

/** Equal exactly for values that are equal, as `valueHash`, but quicker for small ones: their JSON itself. */
export function valueKey(value: Json, budget: QueryBudget): string {
  const text = canonicalText(value, budget, 0)
  if (text.length <= SHORT_CHARS) return text
  budget.spend(HASH_STEPS)
  return textHash(text)
}

/** 128 bits as 32 hex digits. */
export function textHash(text: string): string {
  return [...murmur3x64(encoder.encode(text))]
    .map((word) => word.toString(16).padStart(8, '0'))
    .join('')
}

/** JSON with the properties in order, so that equal values have equal texts. Undefined and null differ. */
function canonicalText(value: Json, budget: QueryBudget, depth: number): string {
  budget.spend(typeof value === 'object' ? HOLDER_STEPS : NODE_STEPS)
  if (typeof value === 'string') budget.read(value.length * HASH_FACTOR)
  if (depth > MAX_VALUE_DEPTH)
    throw new BadQueryError('a value is nested too deeply to be compared')
  if (isJsonArray(value)) {
    return `[${value.map((item) => canonicalText(item, budget, depth + 1)).join(',')}]`
  }
  if (isJsonObject(value)) {
    const names = namesOf(value, budget)
    const chars = names.reduce((sum, name) => sum + name.length, 0)
    // What putting them in order takes grows faster than their number.
    const rounds = Math.ceil(Math.log2(names.length + 1))
    budget.spend(names.length * rounds)
    budget.read(chars * (HASH_FACTOR + rounds))
    const properties = names
      .filter((name) => value[name] !== undefined)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name], budget, depth + 1)}`)
    return `{${properties.join(',')}}`
  }
  return value === undefined ? 'undefined' : JSON.stringify(value)
}
