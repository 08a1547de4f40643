const TEXT_OID = 25

/**
 * A `text[]` in PostgreSQL's binary format. `pg` would write an array as text, with a backslash before each quote of
 * each document: a third fewer writes.
 */
export function textArray(values: readonly string[]): Buffer {
  const lengths = values.map((value) => Buffer.byteLength(value))
  const buffer = Buffer.allocUnsafe(20 + lengths.reduce((sum, length) => sum + 4 + length, 0))
  let at = 0
  for (const header of [1, 0, TEXT_OID, values.length, 1]) at = buffer.writeInt32BE(header, at)
  for (const [index, value] of values.entries()) {
    at = buffer.writeInt32BE(lengths[index] ?? 0, at)
    at += buffer.write(value, at)
  }
  return buffer
}
