/** One thing that happened. */
export interface TraceEntry {
  readonly atMs: number
  readonly what: string
  /** A process, as a rule. */
  readonly who: string
  /** A lease, a key, or a text about it. */
  readonly of: string
  readonly number: number
}

/** So many of the last entries are kept to be shown. */
const KEPT = 400

/** What happened, as a hash over everything, which tells whether two runs were the same, and as the last entries. */
export class Trace {
  readonly #ring: TraceEntry[] = []
  readonly #textHashes = new Map<string, number>()
  readonly #keeps: number
  #count = 0
  #hash = 0x811c9dc5
  #hash2 = 0x9747b28c

  constructor(keeps: number = KEPT) {
    this.#keeps = keeps
  }

  get count(): number {
    return this.#count
  }

  /** Of everything so far. */
  get hash(): string {
    return [this.#hash, this.#hash2]
      .map((part) => (part >>> 0).toString(16).padStart(8, '0'))
      .join('')
  }

  note(entry: TraceEntry): void {
    this.#fold(Math.round(entry.atMs * 1000))
    this.#fold(this.#hashOf(entry.what))
    this.#fold(this.#hashOf(entry.who))
    this.#fold(this.#hashOf(entry.of))
    this.#fold(entry.number)
    this.#ring[this.#count % this.#keeps] = entry
    this.#count += 1
  }

  /** The last entries, oldest first. */
  last(count: number = this.#keeps): readonly TraceEntry[] {
    const shown = Math.min(count, this.#keeps, this.#count)
    return Array.from(
      { length: shown },
      (_, index) => this.#ring[(this.#count - shown + index) % this.#keeps]!,
    )
  }

  #fold(number: number): void {
    const low = number | 0
    const high = Math.floor(number / 2 ** 32) | 0
    this.#hash = Math.imul(this.#hash ^ low, 0x01000193) ^ high
    this.#hash2 = (Math.imul(this.#hash2 ^ high ^ (low << 7), 0x85ebca6b) + low) | 0
    this.#hash ^= this.#hash >>> 15
    this.#hash2 ^= this.#hash2 >>> 13
  }

  #hashOf(text: string): number {
    let hash = this.#textHashes.get(text)
    if (hash !== undefined) return hash
    hash = 0x811c9dc5
    for (let index = 0; index < text.length; index += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
    }
    this.#textHashes.set(text, hash)
    return hash
  }
}

/** As lines, for people. */
export function traceText(entries: readonly TraceEntry[]): string {
  return entries
    .map(({ atMs, what, who, of, number }) =>
      `${atMs.toFixed(1).padStart(9)} ${who.padEnd(5)} ${what} ${of} ${number || ''}`.trimEnd(),
    )
    .join('\n')
}
