import type { JsonObject } from './json.ts'

export interface SourceRequest {
  /** Go on right after this position, which the source gave; undefined = from the start. */
  readonly after: string | undefined
  /** Most documents; the source may give fewer, also none before the end. */
  readonly maxDocuments: number
  readonly signal: AbortSignal
}

export interface SourcePage {
  /** Parsed, with their system properties. `_rid` must be there and unique: it settles ties of ORDER BY. */
  readonly documents: readonly JsonObject[]
  /** The position right after `documents[index]`; asked for once a page at most. */
  positionAfter(index: number): string
  /** Where the page ended, to go on from when all of it was used; undefined only when `done`. */
  readonly position: string | undefined
  /** True when nothing follows. */
  readonly done: boolean
}

/**
 * The documents that a query looks at, in a stable order: a document that does not change keeps its
 * place, and a position stays good when documents come or go.
 */
export interface DocumentSource {
  read(request: SourceRequest): Promise<SourcePage>
}
