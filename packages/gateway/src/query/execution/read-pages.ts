import assert from 'node:assert/strict'
import type { DocumentSource, SourcePage } from '../document-source.ts'
import { eventLoopTurn } from '../platform/event-loop-turn.ts'

/** Documents looked at between two turns of the event loop: a few milliseconds. */
const DOCUMENTS_PER_TURN = 500

/** A page of the source and the position before its first document. */
export interface ReadPage {
  readonly page: SourcePage
  readonly before: string | undefined
}

export interface ReadPagesOptions {
  readonly after: string | undefined
  readonly maxDocuments: () => number
  readonly signal: AbortSignal
}

/** Reads on until the source is at its end or the caller stops, and lets others have the thread in between. */
export async function* readPages(
  source: DocumentSource,
  { after, maxDocuments, signal }: ReadPagesOptions,
): AsyncGenerator<ReadPage, void> {
  let before = after
  let sinceTurn = 0
  for (;;) {
    signal.throwIfAborted()
    const page = await source.read({ after: before, maxDocuments: maxDocuments(), signal })
    sinceTurn += page.documents.length
    if (sinceTurn >= DOCUMENTS_PER_TURN) {
      sinceTurn = 0
      await eventLoopTurn()
    }
    yield { page, before }
    if (page.done) return
    assert(page.position !== undefined, 'a page that is not the last has a position')
    before = page.position
  }
}
