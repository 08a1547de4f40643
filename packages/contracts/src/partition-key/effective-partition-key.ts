import type { FeedRange } from '../ranges/feed-range.ts'
import { murmur3x64, murmur3x86 } from './murmur3.ts'
import type { PartitionKeyComponent, PartitionKeyDefinition } from './partition-key.ts'

/**
 * Effective partition keys as Azure Cosmos DB's clients compute them, so that documents fall into the
 * same ranges there and here. Upper-case hex text, compared as text.
 */

type ComponentHash = (component: PartitionKeyComponent) => string

/** The EPK of a full partition key value. */
export function effectivePartitionKey(
  components: readonly PartitionKeyComponent[],
  definition: PartitionKeyDefinition,
): string {
  const hash: ComponentHash = definition.kind === 'Hash' && definition.version === 1 ? epkV1 : epkV2
  const [first] = components
  return components.length === 1 ? hash(first) : components.map(epkV2).join('')
}

/** The range of all keys that begin with the given components of a hierarchical key. */
export function epkPrefixRange(components: readonly PartitionKeyComponent[]): FeedRange {
  const prefix = components.map(epkV2).join('')
  return { minInclusive: prefix, maxExclusive: `${prefix}FF` }
}

/**
 * `count` ranges that cover every key without gap or overlap and share the hashes out evenly. With hash version 1 they
 * come about by halving, as the service's clients see them: where `count` is no power of two, the last ones are twice
 * as large as the first (three: a quarter, a quarter, a half).
 */
export function evenRanges(
  count: number,
  definition: PartitionKeyDefinition,
): readonly FeedRange[] {
  const version1 = definition.kind === 'Hash' && definition.version === 1
  const bounds = Array.from({ length: count - 1 }, (_, index) => {
    return version1
      ? hex(sortableNumber(Math.floor(shareByHalves(index + 1, count) * 2 ** 32)))
      : ((BigInt(index + 1) * 2n ** 126n) / BigInt(count))
          .toString(16)
          .toUpperCase()
          .padStart(32, '0')
  })
  return Array.from({ length: count }, (_, index) => ({
    minInclusive: bounds[index - 1] ?? '',
    maxExclusive: bounds[index] ?? 'FF',
  }))
}

/**
 * Cuts a range into at most `count` parts of about as many hashes each, in EPK order; fewer where it has not that many
 * keys. With hash version 1 the parts differ by a quarter at most.
 */
export function divideRange(
  { minInclusive, maxExclusive }: FeedRange,
  count: number,
  definition: PartitionKeyDefinition,
): readonly FeedRange[] {
  const version1 = definition.kind === 'Hash' && definition.version === 1
  const range = { minInclusive, maxExclusive }
  const wanted = version1
    ? boundsV1(range, count)
    : boundsV2(range, count, 32 * definition.paths.length)
  const bounds = [...new Set(wanted)].filter(
    (bound) => minInclusive < bound && bound < maxExclusive,
  )
  return [...bounds, maxExclusive].map((end, index) => ({
    minInclusive: bounds[index - 1] ?? minInclusive,
    maxExclusive: end,
  }))
}

/** Keys as numbers of `digits` hex digits. `FF` for a component is the end of its hashes, which is `40`. */
function boundsV2(
  { minInclusive, maxExclusive }: FeedRange,
  count: number,
  digits: number,
): readonly string[] {
  const number = (bound: string): bigint => {
    const key = bound.replace(/^((?:.{32})*)FF$/, '$140')
    return BigInt(`0x0${key.slice(0, digits).padEnd(digits, '0')}`)
  }
  const min = number(minInclusive)
  const end = number(maxExclusive)
  return Array.from({ length: count - 1 }, (_, index) => {
    const at = min + ((end - min) * BigInt(index + 1)) / BigInt(count)
    const text = at.toString(16).toUpperCase().padStart(digits, '0')
    return shortBound(text)
  })
}

/** A shorter text sorts the same: the digits of further components say nothing as long as the first differs. */
export function shortBound(epk: string): string {
  let end = epk.length
  while (end > 32 && epk.endsWith('00', end)) end -= 2
  return epk.slice(0, end)
}

const FINEST_PARTS_V1 = 65_536

/** Of the finest even bounds that lie inside, by halving until there are enough of them to choose from. */
function boundsV1({ minInclusive, maxExclusive }: FeedRange, count: number): readonly string[] {
  const first = firstBoundV1((bound) => minInclusive < bound)
  const end = firstBoundV1((bound) => maxExclusive <= bound)
  for (let step = FINEST_PARTS_V1 / 2; ; step /= 2) {
    const from = Math.ceil(first / step)
    const inside = Math.max(0, Math.ceil(end / step) - from)
    if (inside < 8 * count && step > 1) continue
    return Array.from({ length: count - 1 }, (_, index) => {
      const chosen = Math.round(((index + 1) * (inside + 1)) / count) - 1
      return chosen >= 0 && chosen < inside ? boundV1((from + chosen) * step) : minInclusive
    })
  }
}

/** Bounds rise with their numbers: the number of the first of the finest ones that is high enough. */
function firstBoundV1(isHigh: (bound: string) => boolean): number {
  let low = 1
  let high = FINEST_PARTS_V1
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (isHigh(boundV1(middle))) high = middle
    else low = middle + 1
  }
  return low
}

function boundV1(finest: number): string {
  return hex(sortableNumber(finest * (2 ** 32 / FINEST_PARTS_V1)))
}

/** How much of all hashes lies below the bound of that number. */
function shareByHalves(bound: number, count: number): number {
  const finest = 2 ** Math.ceil(Math.log2(count))
  const small = 2 * count - finest
  return (bound <= small ? bound : 2 * bound - small) / finest
}

/** Version 2, and each component of a hierarchical key: murmur3 x64-128, second half first. */
function epkV2(component: PartitionKeyComponent): string {
  const [h1High = 0, h1Low = 0, h2High = 0, h2Low = 0] = murmur3x64(hashedBytes(component, 0xff))
  // The top two bits are cleared so that every key sorts below 'FF', the end of the space.
  return hexWord(h2High & 0x3fffffff) + hexWord(h2Low) + hexWord(h1High) + hexWord(h1Low)
}

const V1_MAX_STRING_UNITS = 100

/** Version 1: the murmur3 x86-32 hash as a sortable number, then the value itself in sortable form. */
function epkV1(component: PartitionKeyComponent): string {
  const value = typeof component === 'string' ? component.slice(0, V1_MAX_STRING_UNITS) : component
  const hash = murmur3x86(hashedBytes(value, 0x00))
  return hex([...sortableNumber(hash), ...sortableBytes(value)])
}

function hashedBytes(component: PartitionKeyComponent, stringEnd: number): Uint8Array {
  switch (typeof component) {
    case 'string': {
      // A UTF-16 unit takes at most 3 bytes.
      const bytes = new Uint8Array(component.length * 3 + 2)
      bytes[0] = 0x08
      const { written } = new TextEncoder().encodeInto(component, bytes.subarray(1))
      bytes[written + 1] = stringEnd
      return bytes.subarray(0, written + 2)
    }
    case 'number': {
      const bytes = new Uint8Array(9)
      bytes[0] = 0x05
      new DataView(bytes.buffer).setFloat64(1, component, true)
      return bytes
    }
    default:
      return Uint8Array.of(constantMarker(component))
  }
}

function sortableBytes(component: PartitionKeyComponent): readonly number[] {
  switch (typeof component) {
    case 'string': {
      const text = new TextEncoder().encode(component)
      return [0x08, ...Array.from(text, (byte) => (byte === 0xff ? byte : byte + 1)), 0x00]
    }
    case 'number':
      return sortableNumber(component)
    default:
      return [constantMarker(component)]
  }
}

function constantMarker(component: boolean | null | undefined): number {
  if (component === undefined) return 0x00
  if (component === null) return 0x01
  return component ? 0x03 : 0x02
}

/** A double as bytes that sort as the number does: 8 bits, then 7 at a time with a go-on bit. */
function sortableNumber(value: number): readonly number[] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const sign = 1n << 63n
  let payload = (bits & sign) === 0n ? bits ^ sign : BigInt.asUintN(64, -bits)
  const bytes = [0x05, Number(payload >> 56n)]
  payload = BigInt.asUintN(64, payload << 8n)
  while (payload !== 0n) {
    const group = Number(payload >> 57n) << 1
    payload = BigInt.asUintN(64, payload << 7n)
    bytes.push(payload === 0n ? group : group | 1)
  }
  return bytes
}

/** Hex text of each byte: a point read makes 16 of them. */
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).toUpperCase().padStart(2, '0'),
)

function hexWord(word: number): string {
  return hexByte(word >>> 24) + hexByte(word >>> 16) + hexByte(word >>> 8) + hexByte(word)
}

function hexByte(byte: number): string {
  return HEX[byte & 0xff] ?? ''
}

function hex(bytes: readonly number[]): string {
  return bytes.map(hexByte).join('')
}
