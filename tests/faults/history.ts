import { appendFileSync, closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { EOL } from 'node:os'

/** One line of a host's history; `atMs` is the machine's monotonic clock, the same in every process. */
export type HistoryEntry = { readonly atMs: number } & (
  | { readonly kind: 'joined'; readonly incarnation: string }
  | { readonly kind: 'open'; readonly lease: string; readonly epoch: number }
  | { readonly kind: 'close'; readonly lease: string; readonly epoch: number }
  /** A call of `processChanges` begins. */
  | {
      readonly kind: 'dispatch'
      readonly lease: string
      readonly epoch: number
      readonly lsns: readonly number[]
      readonly ids: readonly string[]
    }
  /** A call of `processChanges` has done its work, and is about to resolve. */
  | {
      readonly kind: 'complete'
      readonly lease: string
      readonly epoch: number
      readonly ids: readonly string[]
    }
  /** The observer asked for a checkpoint itself; `code` is undefined when it was stored. */
  | {
      readonly kind: 'checkpoint'
      readonly lease: string
      readonly epoch: number
      readonly askedAtMs: number
      readonly code: string | undefined
    }
  | { readonly kind: 'event'; readonly name: string; readonly detail: string }
)

export type HistoryEntryOf<Kind extends HistoryEntry['kind']> = Extract<
  HistoryEntry,
  { readonly kind: Kind }
>

/** An entry without its time. */
export type HistoryNote = HistoryEntry extends infer Entry
  ? Entry extends HistoryEntry
    ? Omit<Entry, 'atMs'>
    : never
  : never

export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Written synchronously, so that the line is there even if the process dies right after. */
export class HistoryWriter {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  note(entry: HistoryNote): void {
    appendFileSync(this.#file, `${JSON.stringify({ atMs: machineMs(), ...entry })}${EOL}`)
  }
}

/** One history that is looked at again and again while it grows: each line is read once. */
export class HistoryReader {
  readonly #file: string
  readonly #entries: HistoryEntry[] = []
  #readBytes = 0

  constructor(file: string) {
    this.#file = file
  }

  /** The whole lines so far; a line that is being written is left out. */
  entries(): readonly HistoryEntry[] {
    if (!existsSync(this.#file)) return this.#entries
    const descriptor = openSync(this.#file, 'r')
    try {
      const text = Buffer.alloc(fstatSync(descriptor).size - this.#readBytes)
      readSync(descriptor, text, 0, text.length, this.#readBytes)
      const wholeLines = text.subarray(0, text.lastIndexOf(EOL) + EOL.length)
      this.#readBytes += wholeLines.length
      for (const line of wholeLines.toString('utf8').split(EOL).slice(0, -1)) {
        this.#entries.push(JSON.parse(line) as HistoryEntry)
      }
    } finally {
      closeSync(descriptor)
    }
    return this.#entries
  }
}

export function entriesOf<Kind extends HistoryEntry['kind']>(
  history: readonly HistoryEntry[],
  kind: Kind,
): readonly HistoryEntryOf<Kind>[] {
  return history.filter((entry): entry is HistoryEntryOf<Kind> => entry.kind === kind)
}
