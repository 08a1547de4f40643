import { errorCode } from '@tidemark/contracts'
import { writeCharge } from '../protocol/request-charge.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { inKeyScope } from './key-scope.ts'

/** Deletes that wait for the disk together. */
const DELETES_AT_ONCE = 100

/**
 * POST …/operations/partitionkeydelete: deletes every document of one partition key value. Where the service does it
 * in the background, here it is done when the answer comes; what is written meanwhile may stay.
 */
export const deletePartitionKey: Operation = async (request, context) =>
  inKeyScope(request, context, async ({ collection, partitionKey }) => {
    let charge = 1
    let lsn: number | undefined
    for (let continuation: string | undefined, isLast = false; !isLast;) {
      const page = await collection.readDocuments({
        partitionKey,
        maxItemCount: DELETES_AT_ONCE,
        continuation,
        signal: request.signal,
      })
      const deleted = await Promise.all(
        page.documents.map(async ({ id }) => {
          try {
            return (await collection.delete(id, partitionKey, { signal: request.signal })).lsn
          } catch (error) {
            // Somebody else was faster, or it has expired.
            if (errorCode(error) === 'ERR_NOT_FOUND') return 0
            throw error
          }
        }),
      )
      charge += deleted.length * writeCharge(0)
      if (deleted.length > 0) lsn = Math.max(lsn ?? 0, ...deleted)
      continuation = page.continuation
      isLast = continuation === undefined
    }
    return { status: 200, charge, lsn: lsn === 0 ? undefined : lsn }
  })
