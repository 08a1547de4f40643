import { type DocumentBody, type Stored } from '@tidemark/contracts'
import { isJsonRecord, storedOf } from '@tidemark/contracts/internal'
import { callExtension, notOurs } from './call-extension.ts'
import type { RemoteContainer } from './remote-container.ts'

export interface PartitionRead<T extends DocumentBody> {
  readonly documents: readonly Stored<T>[]
  readonly serverTimeMs: number
}

interface PartitionRequest {
  /** Canonical text, ASCII. */
  readonly partitionKey: string
  readonly signal: AbortSignal | undefined
}

/** All documents of a partition key value, in one snapshot, from our gateway. */
export async function readRemotePartition<T extends DocumentBody>(
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
