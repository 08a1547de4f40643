import * as code from './type-codes.ts'

const HIGH = 2 ** 32
const MAX_INT = 2 ** 31

/** Writes encoded values one behind the other. It grows as needed. */
export class ValueWriter {
  #buffer: Buffer
  #at = 0

  /** Enough bytes for what will be written spare it a copy. */
  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafe(capacity)
  }

  /** What was written: a view. */
  get written(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  /** Values that are encoded already. */
  encoded(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#buffer.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** The descriptor of a section, whose value comes next. */
  section(sectionCode: number): void {
    this.#reserve(3)
    this.#byte(code.DESCRIBED)
    this.#byte(code.SMALL_ULONG)
    this.#byte(sectionCode)
  }

  /** A list of what `write` writes. It returns how many items they are. */
  list(write: () => number): void {
    this.#items(code.LIST_32, write)
  }

  /** A map of what `write` writes: keys and values in turn. It returns how many they are, together. */
  map(write: () => number): void {
    this.#items(code.MAP_32, write)
  }

  null(): void {
    this.#code(code.NULL, 0)
  }

  boolean(value: boolean): void {
    this.#code(value ? code.TRUE : code.FALSE, 0)
  }

  ubyte(value: number): void {
    this.#code(code.UBYTE, 1)
    this.#byte(value)
  }

  uint(value: number): void {
    if (value === 0) this.#code(code.UINT_0, 0)
    else {
      this.#code(code.UINT, 4)
      this.#uint32(value)
    }
  }

  int(value: number): void {
    this.#code(code.INT, 4)
    this.#uint32(value)
  }

  /** Whole and safe. */
  long(value: number): void {
    this.#code(code.LONG, 8)
    this.#int64(value)
  }

  /** Any of 64 bits. */
  exactLong(value: bigint): void {
    this.#code(code.LONG, 8)
    this.#at = this.#buffer.writeBigInt64BE(BigInt.asIntN(64, value), this.#at)
  }

  exactUlong(value: bigint): void {
    this.#code(code.ULONG, 8)
    this.#at = this.#buffer.writeBigUInt64BE(BigInt.asUintN(64, value), this.#at)
  }

  exactTimestamp(value: bigint): void {
    this.#code(code.TIMESTAMP, 8)
    this.#at = this.#buffer.writeBigInt64BE(BigInt.asIntN(64, value), this.#at)
  }

  /** Epoch ms. */
  timestamp(value: number): void {
    this.#code(code.TIMESTAMP, 8)
    this.#int64(value)
  }

  /** A whole number as an int or a long, any other as a double. */
  number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.double(value)
    else if (value >= -MAX_INT && value < MAX_INT) this.int(value)
    else this.long(value)
  }

  double(value: number): void {
    this.#code(code.DOUBLE, 8)
    this.#at = this.#buffer.writeDoubleBE(value, this.#at)
  }

  text(value: string): void {
    this.#sizedText(code.STRING_8, code.STRING_32, value)
  }

  symbol(value: string): void {
    this.#sizedText(code.SYMBOL_8, code.SYMBOL_32, value)
  }

  binary(value: Uint8Array): void {
    this.#sized(code.BINARY_8, code.BINARY_32, value.length)
    this.encoded(value)
  }

  /** A value of this type whose bytes are these hexadecimal digits. */
  fixed(typeCode: number, hex: string): void {
    this.#code(typeCode, hex.length / 2)
    this.#at += this.#buffer.write(hex, this.#at, 'hex')
  }

  #items(typeCode: number, write: () => number): void {
    this.#code(typeCode, 8)
    const start = this.#at
    this.#at += 8
    const count = write()
    this.#buffer.writeUInt32BE(this.#at - start - 4, start)
    this.#buffer.writeUInt32BE(count, start + 4)
  }

  #sizedText(narrow: number, wide: number, value: string): void {
    const length = Buffer.byteLength(value)
    this.#sized(narrow, wide, length)
    this.#reserve(length)
    this.#at += this.#buffer.write(value, this.#at, length, 'utf8')
  }

  #sized(narrow: number, wide: number, length: number): void {
    if (length < 256) {
      this.#code(narrow, 1)
      this.#byte(length)
    } else {
      this.#code(wide, 4)
      this.#uint32(length)
    }
  }

  #code(typeCode: number, following: number): void {
    this.#reserve(1 + following)
    this.#byte(typeCode)
  }

  #byte(value: number): void {
    this.#buffer[this.#at++] = value
  }

  #uint32(value: number): void {
    this.#byte(value >>> 24)
    this.#byte(value >>> 16)
    this.#byte(value >>> 8)
    this.#byte(value)
  }

  #int64(value: number): void {
    const high = Math.floor(value / HIGH)
    this.#uint32(high)
    this.#uint32(value - high * HIGH)
  }

  #reserve(count: number): void {
    const needed = this.#at + count
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    larger.set(this.written)
    this.#buffer = larger
  }
}
