/**
 * MurmurHash3 (public domain, Austin Appleby), in 32-bit halves: BigInt arithmetic was several times
 * slower, and a point read hashes its key.
 */

/** x86, 32 bits, unsigned. */
export function murmur3x86(bytes: Uint8Array, seed = 0): number {
  const blocks = bytes.length >>> 2
  let h = seed | 0
  for (let block = 0; block < blocks; block++) {
    h ^= scramble32(word32(bytes, block * 4))
    h = Math.imul(rotateLeft32(h, 13), 5) + 0xe6546b64
  }
  let k = 0
  for (let i = bytes.length - 1; i >= blocks * 4; i--) k = (k << 8) | byteAt(bytes, i)
  if (bytes.length % 4 > 0) h ^= scramble32(k)
  return finalMix32(h ^ bytes.length)
}

/** x64, 128 bits, seed 0, as four unsigned words: h1 high, h1 low, h2 high, h2 low. */
export function murmur3x64(bytes: Uint8Array): Uint32Array {
  const h1 = new Word64()
  const h2 = new Word64()
  const k1 = new Word64()
  const k2 = new Word64()
  const blocks = bytes.length >>> 4
  for (let block = 0; block < blocks; block++) {
    const at = block * 16
    k1.set(word32(bytes, at + 4), word32(bytes, at))
    k2.set(word32(bytes, at + 12), word32(bytes, at + 8))
    h1.xor(scrambleFirst(k1)).rotateLeft(27).add(h2).times(0, 5).plus(0, 0x52dce729)
    h2.xor(scrambleSecond(k2)).rotateLeft(31).add(h1).times(0, 5).plus(0, 0x38495ab5)
  }
  const tail = blocks * 16
  if (bytes.length > tail + 8) {
    k2.set(word32(bytes, tail + 12), word32(bytes, tail + 8))
    h2.xor(scrambleSecond(k2))
  }
  if (bytes.length > tail) {
    k1.set(word32(bytes, tail + 4), word32(bytes, tail))
    h1.xor(scrambleFirst(k1))
  }
  h1.xorLow(bytes.length)
  h2.xorLow(bytes.length)
  h1.add(h2)
  h2.add(h1)
  h1.finalMix()
  h2.finalMix()
  h1.add(h2)
  h2.add(h1)
  return Uint32Array.of(h1.high, h1.low, h2.high, h2.low)
}

function scrambleFirst(k: Word64): Word64 {
  return k.times(0x87c37b91, 0x114253d5).rotateLeft(31).times(0x4cf5ad43, 0x2745937f)
}

function scrambleSecond(k: Word64): Word64 {
  return k.times(0x4cf5ad43, 0x2745937f).rotateLeft(33).times(0x87c37b91, 0x114253d5)
}

/** A mutable 64-bit word; each method returns the word itself. */
class Word64 {
  high = 0
  low = 0

  set(high: number, low: number): this {
    this.high = high
    this.low = low
    return this
  }

  xor(other: Word64): this {
    this.high ^= other.high
    this.low ^= other.low
    return this
  }

  xorLow(low: number): this {
    this.low ^= low
    return this
  }

  add(other: Word64): this {
    return this.plus(other.high, other.low)
  }

  plus(high: number, low: number): this {
    const sum = (this.low >>> 0) + (low >>> 0)
    this.high = (this.high + high + (sum > 0xffffffff ? 1 : 0)) | 0
    this.low = sum | 0
    return this
  }

  times(high: number, low: number): this {
    const carried = multiplyHigh(this.low, low)
    this.high = (carried + Math.imul(this.high, low) + Math.imul(this.low, high)) | 0
    this.low = Math.imul(this.low, low)
    return this
  }

  rotateLeft(bits: number): this {
    const { high, low } = this
    if (bits < 32) {
      this.high = (high << bits) | (low >>> (32 - bits))
      this.low = (low << bits) | (high >>> (32 - bits))
    } else {
      // Only 33 comes here: 32 swaps the halves.
      this.high = (low << (bits - 32)) | (high >>> (64 - bits))
      this.low = (high << (bits - 32)) | (low >>> (64 - bits))
    }
    return this
  }

  finalMix(): this {
    this.low ^= this.high >>> 1
    this.times(0xff51afd7, 0xed558ccd)
    this.low ^= this.high >>> 1
    this.times(0xc4ceb9fe, 0x1a85ec53)
    this.low ^= this.high >>> 1
    return this
  }
}

/** High 32 bits of the product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const other = aLow * bHigh + (middle & 0xffff)
  return (aHigh * bHigh + (middle >>> 16) + (other >>> 16)) | 0
}

function scramble32(k: number): number {
  return Math.imul(rotateLeft32(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593)
}

function finalMix32(value: number): number {
  let h = value
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

function rotateLeft32(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}

/** Little-endian word; bytes past the end count as zero. */
function word32(bytes: Uint8Array, at: number): number {
  return (
    byteAt(bytes, at) |
    (byteAt(bytes, at + 1) << 8) |
    (byteAt(bytes, at + 2) << 16) |
    (byteAt(bytes, at + 3) << 24)
  )
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}
