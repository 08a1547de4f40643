import {
  StoreUnavailableError,
  UnsupportedServerError,
  type DocumentBody,
  type Stored,
  isJsonRecord,
  answerLsn,
  storedOf,
} from '@tidemark/contracts'
import { HEADER } from '../protocol/header-names.ts'
import { callExtension, notOurs } from './call-extension.ts'
import type { RemoteContainer } from './remote-container.ts'
import { jsonOf, serverTimeMs as timeOf } from './wire-answer.ts'

export interface PartitionRead<T extends DocumentBody> {
  readonly documents: readonly Stored<T>[]
  readonly serverTimeMs: number
}

interface PartitionRequest {
  /** Canonical text, ASCII. */
  readonly partitionKey: string
  readonly signal: AbortSignal | undefined
}

const PAGE_ITEMS = 1000
/** Of a partition that is written to all the time. */
const MAX_ATTEMPTS = 10

/** All documents of a partition key value, in one snapshot, from our gateway. */
export async function readPartitionByExtension<T extends DocumentBody>(
  container: RemoteContainer,
  { partitionKey, signal }: PartitionRequest,
): Promise<PartitionRead<T>> {
  const value = await callExtension(container, { call: 'readPartition', partitionKey }, { signal })
  if (isJsonRecord(value)) {
    const { documents, serverTimeMs } = value
    if (Array.isArray(documents) && typeof serverTimeMs === 'number') {
      return { documents: documents.map((document) => storedOf<T>(document)), serverTimeMs }
    }
  }
  throw notOurs('partition')
}

/**
 * The same by the service's protocol. One page is one snapshot; of several, two reads in a row that found the same
 * versions show what was there between them.
 *
 * Rejects with ERR_STORE_UNAVAILABLE when no two of some reads in a row were equal.
 */
export async function readPartitionInPages<T extends DocumentBody>(
  container: RemoteContainer,
  request: PartitionRequest,
): Promise<PartitionRead<T>> {
  let before: string | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { pages, ...read } = await readPages<T>(container, request)
    const versions = read.documents.map(({ id, _etag }) => `${id} ${_etag}`).join('\n')
    if (pages === 1 || versions === before) return read
    before = versions
  }
  throw new StoreUnavailableError(
    `container ${container.name.container}: a partition changed while it was read, ${MAX_ATTEMPTS} times`,
  )
}

async function readPages<T extends DocumentBody>(
  container: RemoteContainer,
  { partitionKey, signal }: PartitionRequest,
): Promise<PartitionRead<T> & { readonly pages: number }> {
  const documents: Stored<T>[] = []
  let serverTimeMs: number | undefined
  let continuation: string | undefined
  let pages = 0
  do {
    const answer = await container.send({
      method: 'GET',
      path: ['docs'],
      headers: {
        [HEADER.partitionKey]: partitionKey,
        [HEADER.maxItemCount]: String(PAGE_ITEMS),
        ...(continuation !== undefined && { [HEADER.continuation]: continuation }),
      },
      subject: { resource: 'collection', id: container.name.container, effect: 'none' },
      signal,
    })
    const { Documents: items } = jsonOf(answer)
    if (!Array.isArray(items)) throw new UnsupportedServerError('the server answers no documents')
    // The service's documents have no `_lsn` outside of feeds: the LSN of the answer is used then.
    const lsn = answerLsn(answer.header)
    documents.push(...items.map((item) => ({ ...storedOf<T>(item), _lsn: lsn })))
    // The earliest: nothing that was read later is taken for older than it is.
    serverTimeMs ??= timeOf(answer)
    continuation = answer.header(HEADER.continuation)
    pages++
  } while (continuation !== undefined)
  const sorted = documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return { documents: sorted, serverTimeMs, pages }
}
