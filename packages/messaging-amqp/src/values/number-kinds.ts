import * as code from './type-codes.ts'

/** A type of numbers that a plain number in a store does not say: `{ "ubyte": 5 }`. */
export interface NumberKind {
  readonly kind: string
  /** The code it is written with, and the bytes behind it. */
  readonly code: number
  readonly bytes: number
  /** Those it is read with. */
  readonly codes: readonly number[]
}

/** An `int` is a plain number, and so is a `double` that is not whole. */
export const NUMBER_KINDS: readonly NumberKind[] = [
  { kind: 'byte', code: code.BYTE, bytes: 1, codes: [code.BYTE] },
  { kind: 'ubyte', code: code.UBYTE, bytes: 1, codes: [code.UBYTE] },
  { kind: 'short', code: code.SHORT, bytes: 2, codes: [code.SHORT] },
  { kind: 'ushort', code: code.USHORT, bytes: 2, codes: [code.USHORT] },
  { kind: 'uint', code: code.UINT, bytes: 4, codes: [code.UINT, code.SMALL_UINT, code.UINT_0] },
  { kind: 'int64', code: code.LONG, bytes: 8, codes: [code.LONG, code.SMALL_LONG] },
  {
    kind: 'uint64',
    code: code.ULONG,
    bytes: 8,
    codes: [code.ULONG, code.SMALL_ULONG, code.ULONG_0],
  },
  { kind: 'float', code: code.FLOAT, bytes: 4, codes: [code.FLOAT] },
  { kind: 'float64', code: code.DOUBLE, bytes: 8, codes: [code.DOUBLE] },
]

const KIND_OF_CODE = new Map(
  NUMBER_KINDS.flatMap(({ kind, codes }) => codes.map((one) => [one, kind] as const)),
)

/** Undefined: a plain number says it. */
export function kindOfCode(typeCode: number): string | undefined {
  return KIND_OF_CODE.get(typeCode)
}

/** Hexadecimal digits of a number of this kind. */
export function digitsOf({ kind, bytes }: NumberKind, value: number): string {
  if (kind !== 'float' && kind !== 'float64') {
    return BigInt.asUintN(bytes * 8, BigInt(value))
      .toString(16)
      .padStart(bytes * 2, '0')
  }
  const written = Buffer.alloc(bytes)
  if (kind === 'float') written.writeFloatBE(value)
  else written.writeDoubleBE(value)
  return written.toString('hex')
}
