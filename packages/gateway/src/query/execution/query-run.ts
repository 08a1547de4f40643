import type { DocumentSource } from '../document-source.ts'
import type { Query } from '../syntax/query.ts'
import type { QueryProgress } from './continuation.ts'
import type { RowEnvironment } from './row-environment.ts'

/** One page's work, with all options resolved. */
export interface QueryRun<Progress extends QueryProgress = QueryProgress> {
  readonly query: Query
  readonly row: RowEnvironment
  readonly source: DocumentSource
  readonly progress: Progress
  readonly maxRows: number
  readonly maxExamined: number
  readonly leaveOutUndefined: boolean
  readonly signal: AbortSignal
}

export interface RunResult {
  readonly items: readonly unknown[]
  /** Undefined when the query is at its end. */
  readonly next: QueryProgress | undefined
  readonly examined: number
}
