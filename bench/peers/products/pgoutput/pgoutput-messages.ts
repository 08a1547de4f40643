/** What a consumer of inserts needs to know of the messages of pgoutput, version 1. */
export type PgoutputMessage =
  | { readonly kind: 'begin' | 'relation' | 'other' }
  /** Columns of the new row in the table's order; null = NULL. */
  | { readonly kind: 'insert'; readonly columns: readonly (string | null)[] }
  /** Everything up to here may be confirmed once it is handled. */
  | { readonly kind: 'commit'; readonly endLsn: bigint }

/** Of a stream message 'w', which has 25 bytes of its own in front. */
export function pgoutputMessage(chunk: Buffer): PgoutputMessage {
  switch (String.fromCharCode(chunk[25] ?? 0)) {
    case 'B':
      return { kind: 'begin' }
    case 'R':
      return { kind: 'relation' }
    case 'I':
      return { kind: 'insert', columns: columnsOf(chunk) }
    case 'C':
      return { kind: 'commit', endLsn: chunk.readBigUInt64BE(35) }
    default:
      return { kind: 'other' }
  }
}

/** After the letter: 4 bytes of the relation, 'N', and the new row. */
function columnsOf(chunk: Buffer): readonly (string | null)[] {
  const count = chunk.readInt16BE(31)
  const columns: (string | null)[] = []
  for (let column = 0, at = 33; column < count; column++) {
    const kind = String.fromCharCode(chunk[at] ?? 0)
    at++
    if (kind !== 't') {
      columns.push(null)
      continue
    }
    const end = at + 4 + chunk.readInt32BE(at)
    columns.push(chunk.toString('utf8', at + 4, end))
    at = end
  }
  return columns
}

/** Tells the server that everything up to `lsn` was handled. */
export function standbyStatus(lsn: bigint): Buffer {
  const buffer = Buffer.alloc(34)
  buffer.write('r', 0)
  for (const at of [1, 9, 17]) buffer.writeBigUInt64BE(lsn, at)
  return buffer
}
