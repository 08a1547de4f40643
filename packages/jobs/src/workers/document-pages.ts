import type { DocumentBody, Stored } from '@tidemark/contracts'
import type { Collection, ReadDocumentsOptions } from '@tidemark/store'

const PAGE = 1_000

/** All documents of a collection, or of one partition key value, in key order, a page at a time. */
export async function* documentPages<T extends DocumentBody>(
  collection: Pick<Collection<T>, 'readDocuments'>,
  options: Omit<ReadDocumentsOptions, 'continuation'> = {},
): AsyncGenerator<readonly Stored<T>[]> {
  let continuation: string | undefined
  do {
    const page = await collection.readDocuments({ maxItemCount: PAGE, ...options, continuation })
    yield page.documents
    continuation = page.continuation
  } while (continuation !== undefined)
}
