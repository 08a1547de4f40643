import type { DocumentCollection } from '@tidemark/contracts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { LeaseServer } from './lease-server.ts'
import type { NetworkLink } from './network-link.ts'

/** The collection of leases as documents, as a process reaches it over its link. */
export function linkedCollection(
  server: LeaseServer,
  process: SimulatedProcess,
  link: NetworkLink,
): DocumentCollection {
  const { documents } = server
  const { id, identity, partitionKeyPaths } = documents
  const call = <R>(
    method: string,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
    request: () => Promise<R>,
  ): Promise<R> =>
    untilAborted(
      link.call(method, () => server.execute(process, request)),
      signal,
    )
  return {
    id,
    identity,
    partitionKeyPaths,
    // Whatever happens in the store happens whether or not its caller has given up: no signal goes there.
    read: (of, key, options) =>
      call('read', options, () => documents.read(of, key, { ...options, signal: undefined })),
    create: (document, options) =>
      call('create', options, () => documents.create(document, { ...options, signal: undefined })),
    upsert: (document, options) =>
      call('upsert', options, () => documents.upsert(document, { ...options, signal: undefined })),
    replace: (document, options) =>
      call('replace', options, () =>
        documents.replace(document, { ...options, signal: undefined }),
      ),
    patch: () => documents.patch(),
    delete: (of, key, options) =>
      call('delete', options, () => documents.delete(of, key, { ...options, signal: undefined })),
    batch: (key, operations, options) =>
      call('batch', options, () =>
        documents.batch(key, operations, { ...options, signal: undefined }),
      ),
    flush: (options) => call('flush', options, () => documents.flush()),
    readPartition: (key, options) =>
      call('readPartition', options, () => documents.readPartition(key)),
    readFeedRanges: (options) => call('readFeedRanges', options, () => documents.readFeedRanges()),
    waitForCommit: ({ afterLsn, timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        const over = (settle: () => void): void => {
          timer.cancel()
          stop()
          signal.removeEventListener('abort', onAbort)
          settle()
        }
        const onAbort = (): void => over(() => reject(signal.reason))
        const timer = process.after(timeoutMs, () => over(() => resolve(false)))
        const stop = server.onCommit(afterLsn, () => link.hint(() => over(() => resolve(true))))
        if (signal.aborted) onAbort()
        else signal.addEventListener('abort', onAbort, { once: true })
      }),
  }
}

/** As the call settles, or as soon as its caller gives it up. */
function untilAborted<R>(call: Promise<R>, signal: AbortSignal | undefined): Promise<R> {
  if (signal === undefined) return call
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const over = (): void => signal.removeEventListener('abort', onAbort)
    call.then(
      (result) => {
        over()
        resolve(result)
      },
      (error: unknown) => {
        over()
        reject(error)
      },
    )
  })
}
