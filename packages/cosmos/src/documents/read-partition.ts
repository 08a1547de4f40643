import { StoreUnavailableError, type DocumentBody, type Stored } from '@tidemark/contracts'
import { answerDateMs, answerLsn, storedOf, type AnswerHeader } from '@tidemark/contracts/internal'

export interface PartitionRead<T extends DocumentBody> {
  readonly documents: readonly Stored<T>[]
  readonly serverTimeMs: number
}

/** One page of the documents of a partition. */
export interface PartitionPage {
  readonly items: readonly unknown[]
  readonly header: AnswerHeader
}

/** Of a partition that is written to all the time. */
const MAX_ATTEMPTS = 10

/**
 * All documents of a partition in one snapshot. One page is one; of several, two reads in a row that found the same
 * versions show what was there between them.
 *
 * Rejects with ERR_STORE_UNAVAILABLE when no two of some reads in a row were equal.
 */
export async function readInPages<T extends DocumentBody>(
  containerId: string,
  pages: () => AsyncIterable<PartitionPage>,
): Promise<PartitionRead<T>> {
  let before: string | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { pageCount, ...read } = await readOnce<T>(pages())
    const versions = read.documents.map(({ id, _etag }) => `${id} ${_etag}`).join('\n')
    if (pageCount === 1 || versions === before) return read
    before = versions
  }
  throw new StoreUnavailableError(
    `container ${containerId}: a partition changed while it was read, ${MAX_ATTEMPTS} times`,
  )
}

async function readOnce<T extends DocumentBody>(
  pages: AsyncIterable<PartitionPage>,
): Promise<PartitionRead<T> & { readonly pageCount: number }> {
  const documents: Stored<T>[] = []
  let serverTimeMs: number | undefined
  let pageCount = 0
  for await (const { items, header } of pages) {
    // The service's documents have no `_lsn` outside of feeds: the LSN of the answer is used then.
    const lsn = answerLsn(header)
    documents.push(...items.map((item) => ({ ...storedOf<T>(item), _lsn: lsn })))
    // The earliest: nothing that was read later is taken for older than it is.
    serverTimeMs ??= answerDateMs(header)
    pageCount++
  }
  const sorted = documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return { documents: sorted, serverTimeMs: serverTimeMs ?? 0, pageCount }
}
