import assert from 'node:assert/strict'
import type { SourcePage } from '../document-source.ts'
import type { QueryRun } from './query-run.ts'

/** Of finding and parsing a small document; an empty page costs as much. */
const STEPS_PER_DOCUMENT = 100

/** A page of the source and the position before its first document. */
export interface ReadPage {
  readonly page: SourcePage
  readonly before: string | undefined
}

export interface ReadPagesOptions {
  readonly after: string | undefined
  readonly maxDocuments: () => number
}

/** Reads on until the source is at its end or the caller stops, and lets others have the thread in between. */
export async function* readPages(
  { source, signal, row: { budget } }: QueryRun,
  { after, maxDocuments }: ReadPagesOptions,
): AsyncGenerator<ReadPage, void> {
  let before = after
  for (;;) {
    signal.throwIfAborted()
    const page = await source.read({ after: before, maxDocuments: maxDocuments(), signal })
    // Reading took time, too: documents had to be parsed.
    budget.spend(Math.max(page.documents.length, 1) * STEPS_PER_DOCUMENT)
    if (budget.turnDue) await budget.turn()
    yield { page, before }
    if (page.done) return
    assert(page.position !== undefined, 'a page that is not the last has a position')
    before = page.position
  }
}
