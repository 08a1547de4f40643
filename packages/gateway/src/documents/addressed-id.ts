import { ResourceNotFoundError, BadRequestError } from '@tidemark/contracts'
import { named } from '../resources/resource-names.ts'
import { pageCharge } from '../protocol/request-charge.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import type { KeyScope } from './key-scope.ts'

/** Characters of documents that one request looks through for a `_rid`. */
const MAX_SOUGHT_CHARS = 64 * 1024 * 1024

/**
 * The id of the document of a path below `dbs/…/colls/…/docs`. A `_rid` is a hash of the document's key (decision
 * 0002) and leads to no row, so that the documents of the partition key value are looked through for it.
 *
 * Rejects with ERR_NOT_FOUND, and with ERR_BAD_REQUEST when that would be too many.
 */
export async function addressedId(
  { path, signal }: GatewayRequest,
  { collection, open, partitionKey, range }: KeyScope,
  { budgets }: GatewayContext,
): Promise<string> {
  const name = named(path.segments[5])
  if (path.collectionRid === undefined) return name
  const head = `{"_rid":"${name}",`
  let sought = 0
  let continuation: string | undefined
  do {
    const page = await collection.readDocumentsText({ partitionKey, continuation, signal })
    const found = page.bodies.find((body) => body.startsWith(head))
    // Stored texts are documents.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
    if (found !== undefined) return (JSON.parse(found) as { readonly id: string }).id
    let chars = 0
    for (const body of page.bodies) chars += body.length
    // What is answered in the end costs nothing of this.
    budgets.spend(`${open.record.rid}/${range.number}`, pageCharge(chars))
    sought += chars
    continuation = page.continuation
    if (continuation !== undefined && sought >= MAX_SOUGHT_CHARS) {
      throw new BadRequestError(
        `no document with this _rid is among the first ${MAX_SOUGHT_CHARS} characters of its partition key value, ` +
          `and no more are looked through; address the document by its id`,
      )
    }
  } while (continuation !== undefined)
  throw new ResourceNotFoundError('document', name)
}
