import { type FeedRange, type PartitionKeyDefinition } from '@tidemark/contracts'
import { evenRanges, shortBound } from '@tidemark/contracts/internal'

/** Bytes of one component's hash, from version 2 on. */
const HASH_BYTES = 16
/** The two highest bits of a hash are never set. */
const HASH_SPACE_BITS = HASH_BYTES * 8 - 2
/** Parts of the key space to try for a version 1 key, whose EPKs are not plain numbers. */
const FINEST_PARTS = 4096

/**
 * The EPK that halves the keys of a range, with or without documents. Undefined when the range has room for only one
 * key.
 */
export function middleOfRange(
  range: FeedRange,
  definition: PartitionKeyDefinition,
): string | undefined {
  const isVersion1 = definition.kind === 'Hash' && definition.version === 1
  if (isVersion1) return middleBound(range, definition)
  const digits = 2 * HASH_BYTES * definition.paths.length
  const spaceEnd = 1n << BigInt(HASH_SPACE_BITS + (digits * 4 - HASH_BYTES * 8))
  const min = firstKey(range.minInclusive, digits)
  const end = firstKey(range.maxExclusive, digits)
  const middle = (min + (end < spaceEnd ? end : spaceEnd)) >> 1n
  if (middle <= min) return undefined
  const at = shortBound(middle.toString(16).toUpperCase().padStart(digits, '0'))
  return range.minInclusive < at && at < range.maxExclusive ? at : undefined
}

/** The number of the first whole key at or above a bound. */
function firstKey(bound: string, digits: number): bigint {
  if (bound === '') return 0n
  const head = BigInt(`0x${bound.slice(0, digits).padEnd(digits, '0')}`)
  return bound.length > digits ? head + 1n : head
}

/** The middle bound between even parts that lie inside, with as few parts as possible. */
function middleBound(range: FeedRange, definition: PartitionKeyDefinition): string | undefined {
  for (let parts = 2; parts <= FINEST_PARTS; parts *= 2) {
    const inside = evenRanges(parts, definition)
      .map(({ minInclusive }) => minInclusive)
      .filter((bound) => range.minInclusive < bound && bound < range.maxExclusive)
    if (inside.length > 0) return inside[inside.length >> 1]
  }
  return undefined
}
