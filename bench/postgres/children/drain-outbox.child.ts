import { serveParent } from '../../measuring/child-process.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { PgoutputConsumer } from '../peers/pgoutput-consumer.ts'
import { SkipLockedWorker } from '../peers/skip-locked-worker.ts'

/** `connect` comes first; then one of the ways to drain. */
export type OutboxRequest =
  | { readonly kind: 'connect'; readonly url: string }
  | { readonly kind: 'skipLocked' }
  | { readonly kind: 'pgoutput'; readonly slot: string; readonly count: number }

export interface OutboxReply {
  readonly documents: number
  /** Machine clock after the last batch. */
  readonly lastMs: number
}

let url = ''
let worker: SkipLockedWorker | undefined
/** Kept, so that no document is left unread. */
let total = 0

serveParent(async (request: OutboxRequest): Promise<OutboxReply> => {
  let documents = 0
  let lastMs = 0
  const onBatch = (batch: readonly unknown[]): void => {
    for (const document of batch as readonly { readonly total: number }[]) total += document.total
    documents += batch.length
    lastMs = machineMs()
  }
  switch (request.kind) {
    case 'connect':
      url = request.url
      worker = await SkipLockedWorker.connect(url)
      break
    case 'skipLocked':
      await worker?.drain(onBatch)
      break
    case 'pgoutput': {
      await using consumer = await PgoutputConsumer.connect(url)
      await consumer.drain(request, onBatch)
    }
  }
  if (Number.isNaN(total)) throw new Error('a document had no total')
  return { documents, lastMs }
})
