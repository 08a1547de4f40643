import rhea from 'rhea'

/** What we use of rhea's encodings that its declarations leave out. */
interface RheaTypes {
  readonly by_code: Readonly<Record<number, { read: (bytes: Buffer, at: number) => unknown }>>
  wrap_error: (error: object) => unknown
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations leave them out.
const types = rhea.types as unknown as RheaTypes
const wrapError = types.wrap_error

/** A boolean with a byte of its own, as Python and Proton write it, is one: rhea reads a number, and `=== true` fails without a word. */
types.by_code[0x56]!.read = (bytes, at) => bytes[at] !== 0
/** 64-bit numbers from 2^53 on are their bytes: of those just above, rhea makes numbers that lack their last bits. */
const LONG_CODES = [0x80, 0x81]
for (const code of LONG_CODES) {
  const type = types.by_code[code]!
  const read = type.read.bind(type)
  type.read = (bytes, at) => {
    const value = read(bytes, at)
    return typeof value !== 'number' || Number.isSafeInteger(value)
      ? value
      : bytes.subarray(at, at + 8)
  }
}
/** Every error has its three fields (part 2, section 2.8.14): the client for Python reads the third, which rhea leaves out. */
types.wrap_error = (error) => wrapError({ info: null, ...error })
