import type { DocumentBody, Stored } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'

const PAGE = 1_000

/** All documents of a collection, in key order, a page at a time. */
export async function* documentPages<T extends DocumentBody>(
  collection: Collection<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Stored<T>[]> {
  let continuation: string | undefined
  do {
    const page = await collection.readDocuments({ maxItemCount: PAGE, continuation, signal })
    yield page.documents
    continuation = page.continuation
  } while (continuation !== undefined)
}
