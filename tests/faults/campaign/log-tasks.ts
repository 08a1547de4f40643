import type { FaultProcessTask } from '../fault-process.ts'

/** Opens the store, then does as it is told. */
export interface LargeWriterTask extends FaultProcessTask {
  /** Of the stage. */
  readonly folder: string
}

/** Write documents of 1 MiB, all in one turn; `writing` and `written` are noted. */
export interface LargeWriterOrder {
  readonly documents: number
}

/** Reads a database file in transactions, one right after the other. */
export interface LogReaderTask extends FaultProcessTask {
  readonly file: string
  /** How long each lasts. */
  readonly readMs: number
}
