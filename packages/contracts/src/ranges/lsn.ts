import assert from 'node:assert/strict'

declare const lsnBrand: unique symbol

/** Logical sequence number: a position in one pkrange's history. Only rises; 0 is before the first. */
export type Lsn = number & { readonly [lsnBrand]: never }

/** @throws AssertionError when `value` is negative or not a safe integer */
export function lsn(value: number): Lsn {
  assert(Number.isSafeInteger(value) && value >= 0, `not an LSN: ${value}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where a number becomes an Lsn
  return value as Lsn
}
