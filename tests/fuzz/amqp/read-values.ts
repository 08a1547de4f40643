/** A described list, with its values as JavaScript has them. */
export interface DescribedList {
  readonly code: number
  readonly fields: readonly unknown[]
  /** What follows it. */
  readonly payload: Buffer
}

/** Reads what a front writes: only the types that it uses in performatives. */
export function readDescribedList(bytes: Buffer): DescribedList {
  const reader = new ValueReader(bytes)
  const read = reader.read()
  if (!isDescribed(read)) throw new Error(`no performative: ${bytes.toString('hex')}`)
  return {
    code: Number(read.descriptor),
    fields: Array.isArray(read.value) ? read.value : [],
    payload: reader.rest,
  }
}

interface Described {
  readonly descriptor: unknown
  readonly value: unknown
}

function isDescribed(value: unknown): value is Described {
  return typeof value === 'object' && value !== null && 'descriptor' in value
}

class ValueReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#at)
  }

  read(): unknown {
    const code = this.#uint(1)
    if (code === 0) return { descriptor: this.read(), value: this.read() }
    const fixed = FIXED.get(code)
    if (fixed !== undefined) return fixed
    switch (code >> 4) {
      case 0x5:
        return this.#uint(1)
      case 0x6:
        return this.#uint(2)
      case 0x7:
        return this.#uint(4)
      case 0x8:
        return this.#take(8).readBigUInt64BE()
      case 0x9:
        return this.#take(16)
      case 0xa:
      case 0xb: {
        const content = this.#take(this.#uint(code < 0xb0 ? 1 : 4))
        return code === 0xa0 || code === 0xb0 ? content : content.toString()
      }
      case 0xc:
      case 0xd:
        return this.#items(code < 0xd0 ? 1 : 4)
      default:
        return this.#take(this.#uint(code < 0xf0 ? 1 : 4))
    }
  }

  #items(width: 1 | 4): readonly unknown[] {
    this.#uint(width)
    return Array.from({ length: this.#uint(width) }, () => this.read())
  }

  #uint(width: 1 | 2 | 4): number {
    return this.#take(width).readUIntBE(0, width)
  }

  #take(bytes: number): Buffer {
    this.#at += bytes
    return this.#bytes.subarray(this.#at - bytes, this.#at)
  }
}

const FIXED: ReadonlyMap<number, unknown> = new Map<number, unknown>([
  [0x40, null],
  [0x41, true],
  [0x42, false],
  [0x43, 0],
  [0x44, 0],
  [0x45, []],
])
