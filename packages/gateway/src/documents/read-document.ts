import { ResourceNotFoundError } from '@tidemark/contracts'
import { HEADER } from '../protocol/header-names.ts'
import { readCharge } from '../protocol/request-charge.ts'
import { documentId } from '../resources/resource-names.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { inKeyScope } from './key-scope.ts'

/** GET /dbs/{db}/colls/{coll}/docs/{id}: the stored text as it is. */
export const readDocument: Operation = async (request, context) =>
  inKeyScope(request, context, async ({ collection, open, partitionKey, range }) => {
    const id = documentId(request.path)
    const { signal } = request
    const token = request.header(HEADER.sessionToken)
    if (token !== undefined) await context.sessions.assertReached(open, { range, token, signal })
    const ifNoneMatch = request.header(HEADER.ifNoneMatch)
    const read = await collection.readText(id, partitionKey, { ifNoneMatch, signal })
    const { text, etag, lsn } = read
    if (read.notModified) return { status: 304, charge: readCharge(0), etag, lsn }
    if (text === undefined) throw new ResourceNotFoundError('document', id)
    return { status: 200, charge: readCharge(text.length), etag, lsn, body: [text] }
  })
