import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import * as code from './type-codes.ts'

/** Descriptors, lists, maps and arrays within each other. */
const MAX_DEPTH = 64
/** Items without any bytes in arrays, together: a decoder makes an object of each, so a few bytes could fill the memory. */
const MAX_EMPTY_ITEMS = 4_096

/** What follows a type code, if it is no fixed number of bytes. */
const UNKNOWN = -1
const SIZED_8 = -2
const SIZED_32 = -3
const LIST_LIKE_8 = -4
const LIST_LIKE_32 = -5
const ARRAY_LIKE_8 = -6
const ARRAY_LIKE_32 = -7

/** By type code: the number of bytes of a value of fixed width, or one of the above. */
const LAYOUTS = layouts([
  [0, [code.NULL, code.TRUE, code.FALSE, code.UINT_0, code.ULONG_0, code.LIST_0]],
  [1, [code.UBYTE, code.BYTE, code.SMALL_UINT, code.SMALL_ULONG, code.SMALL_INT]],
  [1, [code.SMALL_LONG, code.BOOLEAN]],
  [2, [code.USHORT, code.SHORT]],
  [4, [code.UINT, code.INT, code.FLOAT, code.CHAR, code.DECIMAL_32]],
  [8, [code.ULONG, code.LONG, code.DOUBLE, code.TIMESTAMP, code.DECIMAL_64]],
  [16, [code.DECIMAL_128, code.UUID]],
  [SIZED_8, [code.BINARY_8, code.STRING_8, code.SYMBOL_8]],
  [SIZED_32, [code.BINARY_32, code.STRING_32, code.SYMBOL_32]],
  [LIST_LIKE_8, [code.LIST_8, code.MAP_8]],
  [LIST_LIKE_32, [code.LIST_32, code.MAP_32]],
  [ARRAY_LIKE_8, [code.ARRAY_8]],
  [ARRAY_LIKE_32, [code.ARRAY_32]],
])

/**
 * The offset behind the encoded value that begins at `offset` and lies before `end`. Nothing that its bytes say is
 * believed: sizes and counts must fit exactly, and it takes time in proportion to the bytes.
 *
 * @throws ERR_MALFORMED_MESSAGE
 */
export function endOfValue(bytes: Uint8Array, offset: number, end: number): number {
  return new Scan(bytes).endOfValue(offset, end, 0)
}

/**
 * Returns if encoded values, one behind the other, fill these bytes up to `end`.
 *
 * @throws ERR_MALFORMED_MESSAGE
 */
export function assertWellFormed(bytes: Uint8Array, offset = 0, end: number = bytes.length): void {
  const scan = new Scan(bytes)
  for (let at = offset; at < end;) at = scan.endOfValue(at, end, 0)
}

/**
 * The offsets of the items of a list or map, and at the end the one behind it. In a map, keys and values take turns.
 *
 * @throws ERR_MALFORMED_MESSAGE also when it is neither
 */
export function itemOffsets(bytes: Uint8Array, offset: number, end: number): readonly number[] {
  return new Scan(bytes).itemOffsets(offset, end)
}

/** The unsigned number in the 4 bytes from `at`, which must be there. */
export function uint32At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
  )
}

/** One walk over values: what must be counted over all of them. */
class Scan {
  readonly #bytes: Uint8Array
  #emptyItems = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  endOfValue(offset: number, end: number, depth: number): number {
    if (offset >= end) throw new MalformedMessageError('a value is cut off')
    const typeCode = this.#bytes[offset]!
    if (typeCode !== code.DESCRIBED) return this.#endOfContent(typeCode, offset + 1, end, depth)
    const descriptorEnd = this.endOfValue(offset + 1, end, deeper(depth))
    return this.endOfValue(descriptorEnd, end, depth + 1)
  }

  itemOffsets(offset: number, end: number): readonly number[] {
    const typeCode = offset < end ? this.#bytes[offset]! : code.NULL
    if (typeCode === code.LIST_0) return [offset + 1]
    const layout = LAYOUTS[typeCode]
    if (layout !== LIST_LIKE_8 && layout !== LIST_LIKE_32) {
      throw new MalformedMessageError('a list or map is missing')
    }
    const offsets: number[] = []
    offsets.push(this.#endOfList(typeCode, offset + 1, end, 0, offsets))
    return offsets
  }

  /** Of what follows a type code. */
  #endOfContent(typeCode: number, at: number, end: number, depth: number): number {
    const layout = LAYOUTS[typeCode]!
    if (layout >= 0) return within(at + layout, end)
    switch (layout) {
      case SIZED_8:
        return within(within(at + 1, end) + this.#bytes[at]!, end)
      case SIZED_32:
        return within(within(at + 4, end) + uint32At(this.#bytes, at), end)
      case LIST_LIKE_8:
      case LIST_LIKE_32:
        return this.#endOfList(typeCode, at, end, depth)
      case ARRAY_LIKE_8:
      case ARRAY_LIKE_32:
        return this.#endOfArray(typeCode, at, end, depth)
      default:
        throw unknownType(typeCode)
    }
  }

  /** Of a list or map. Notes where each item begins. */
  #endOfList(typeCode: number, at: number, end: number, depth: number, offsets?: number[]): number {
    const isWide = typeCode === code.LIST_32 || typeCode === code.MAP_32
    const items = within(at + (isWide ? 8 : 2), end)
    const ends = within(at + this.#sizeAt(at, isWide), end)
    const count = isWide ? uint32At(this.#bytes, at + 4) : this.#bytes[at + 1]!
    // Each item has a byte at least. A decoder would make room for as many as it is told.
    if (count > ends - items) throw tooManyItems(count)
    if (count % 2 === 1 && (typeCode === code.MAP_8 || typeCode === code.MAP_32)) {
      throw new MalformedMessageError('a map has a key without a value')
    }
    const itemDepth = deeper(depth)
    let next = items
    for (let item = 0; item < count; item++) {
      offsets?.push(next)
      next = this.endOfValue(next, ends, itemDepth)
    }
    return exactly(next, ends)
  }

  #endOfArray(typeCode: number, at: number, end: number, depth: number): number {
    const isWide = typeCode === code.ARRAY_32
    let next = within(at + (isWide ? 8 : 2), end)
    const ends = within(at + this.#sizeAt(at, isWide), end)
    const count = isWide ? uint32At(this.#bytes, at + 4) : this.#bytes[at + 1]!
    const itemDepth = deeper(depth)
    while (next < ends && this.#bytes[next] === code.DESCRIBED) {
      next = this.endOfValue(next + 1, ends, itemDepth)
    }
    if (next >= ends) throw new MalformedMessageError('an array has no type')
    const itemCode = this.#bytes[next]!
    next += 1
    const layout = LAYOUTS[itemCode]!
    if (layout > 0) return exactly(next + count * layout, ends)
    if (layout === 0) this.#countEmpty(count)
    else if (layout === UNKNOWN) throw unknownType(itemCode)
    else if (count > ends - next) throw tooManyItems(count)
    else {
      for (let item = 0; item < count; item++) {
        next = this.#endOfContent(itemCode, next, ends, itemDepth)
      }
    }
    return exactly(next, ends)
  }

  /** Of a list or array, with the bytes of the size itself. */
  #sizeAt(at: number, isWide: boolean): number {
    return isWide ? uint32At(this.#bytes, at) + 4 : this.#bytes[at]! + 1
  }

  #countEmpty(count: number): void {
    this.#emptyItems += count
    if (this.#emptyItems > MAX_EMPTY_ITEMS) {
      throw new MalformedMessageError(
        `arrays have more than ${MAX_EMPTY_ITEMS} items without bytes`,
      )
    }
  }
}

function layouts(
  groups: readonly (readonly [layout: number, codes: readonly number[]])[],
): Int8Array {
  const table = new Int8Array(256).fill(UNKNOWN)
  for (const [layout, codes] of groups) for (const one of codes) table[one] = layout
  return table
}

function tooManyItems(count: number): MalformedMessageError {
  return new MalformedMessageError(`${count} items do not fit into the size of a list`)
}

function unknownType(typeCode: number): MalformedMessageError {
  return new MalformedMessageError(`no type has the code 0x${typeCode.toString(16)}`)
}

function within(at: number, end: number): number {
  if (at > end) throw new MalformedMessageError('a value is cut off')
  return at
}

function exactly(at: number, end: number): number {
  if (at !== end) throw new MalformedMessageError('the items of a list do not fill its size')
  return at
}

function deeper(depth: number): number {
  if (depth >= MAX_DEPTH) {
    throw new MalformedMessageError(`values are nested more than ${MAX_DEPTH} deep`)
  }
  return depth + 1
}
