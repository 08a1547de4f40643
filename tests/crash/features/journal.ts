import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { PlannedOperation } from './feature-lane.ts'

/** What a writing process notes; times are the machine's clock, epoch ms. */
export type JournalEntry =
  | {
      readonly kind: 'begin'
      readonly lane: string
      readonly index: number
      readonly atMs: number
      readonly operations: readonly PlannedOperation[]
    }
  /** Acknowledged; `timeMs` is the store's clock in the commit. */
  | {
      readonly kind: 'done'
      readonly lane: string
      readonly index: number
      readonly lsn: number
      readonly timeMs: number
    }
  | {
      readonly kind: 'refused'
      readonly lane: string
      readonly index: number
      readonly atMs: number
      readonly code: string
    }
  | { readonly kind: 'ttlBegin'; readonly atMs: number; readonly defaultTtl: number | null }
  | { readonly kind: 'ttlDone'; readonly atMs: number }
  | { readonly kind: 'rangesBegin' }
  | { readonly kind: 'rangesDone' }
  /** An event of the store, with its number of documents, rows or entries. */
  | { readonly kind: 'event'; readonly name: string; readonly items: number }

/**
 * Lines of JSON, each one write(2): what was written is in the system's hands and survives the process
 * that is going to be killed.
 */
export class Journal<Entry> {
  readonly #file: number

  constructor(file: string) {
    this.#file = openSync(file, 'a')
  }

  note(entry: Entry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** The whole lines so far. */
export function readJournal<Entry>(file: string): readonly Entry[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  // Only `Journal` of the same entries writes these files.
  return lines.map((line) => JSON.parse(line) as Entry)
}
