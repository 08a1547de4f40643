const MAX_CHUNK_ROWS = 512

/** Rows in the order of a key that is unique to each. Stored in chunks, so an insert moves only hundreds of entries. */
export class SortedRows<Key, Row extends Key> {
  readonly #compare: (a: Key, b: Key) => number
  readonly #chunks: Row[][] = [[]]

  constructor(compare: (a: Key, b: Key) => number) {
    this.#compare = compare
  }

  /** Adds a row, and replaces the one with the same key. */
  put(row: Row): void {
    const chunkIndex = this.#chunkOf(row)
    const chunk = this.#chunks[chunkIndex] ?? []
    const at = this.#lowerBound(chunk, row)
    const present = chunk[at]
    if (present !== undefined && this.#compare(present, row) === 0) {
      chunk[at] = row
      return
    }
    chunk.splice(at, 0, row)
    if (chunk.length > MAX_CHUNK_ROWS) {
      this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(MAX_CHUNK_ROWS / 2))
    }
  }

  delete(key: Key): void {
    const chunkIndex = this.#chunkOf(key)
    const chunk = this.#chunks[chunkIndex] ?? []
    const at = this.#lowerBound(chunk, key)
    const present = chunk[at]
    if (present === undefined || this.#compare(present, key) !== 0) return
    chunk.splice(at, 1)
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(chunkIndex, 1)
  }

  /** Rows from the first whose key is at least `key`, in order. */
  *from(key: Key): Generator<Row, void> {
    let chunkIndex = this.#chunkOf(key)
    let at = this.#lowerBound(this.#chunks[chunkIndex] ?? [], key)
    for (; chunkIndex < this.#chunks.length; chunkIndex++) {
      const chunk = this.#chunks[chunkIndex] ?? []
      for (; at < chunk.length; at++) {
        const row = chunk[at]
        if (row !== undefined) yield row
      }
      at = 0
    }
  }

  /** The chunk that has a key or should get it: the first whose last row is not below the key. */
  #chunkOf(key: Key): number {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      const last = this.#chunks[middle]?.at(-1)
      if (last !== undefined && this.#compare(last, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #lowerBound(rows: readonly Row[], key: Key): number {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const row = rows[middle]
      if (row !== undefined && this.#compare(row, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
