import { ResourceNotFoundError } from '@tidemark/contracts'
import { singleEpkRange } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import { wireError } from '../protocol/error-answer.ts'
import { ownErrorHeaders } from '../protocol/own-error-headers.ts'
import { readCharge } from '../protocol/request-charge.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { addressedId } from './addressed-id.ts'
import { documentText } from './document-text.ts'
import { inKeyScope, type RangeOutcome } from './key-scope.ts'
import { assertSession } from './session-check.ts'

/** GET /dbs/{db}/colls/{coll}/docs/{id}: the stored text, not parsed. */
export const readDocument: Operation = async (request, context) =>
  inKeyScope(request, context, async (scope) => {
    const { collection, open, partitionKey, key, range } = scope
    const { signal } = request
    const keys = singleEpkRange(key.epk)
    await assertSession(request, context, { open, ranges: [range], keys })
    const id = await addressedId(request, scope, context)
    const ifNoneMatch = request.header(HEADER.ifNoneMatch)
    const read = await collection.readText(id, partitionKey, { ifNoneMatch, signal })
    const { text, etag, lsn, serverTimeMs } = read
    if (read.notModified) return { status: 304, charge: readCharge(0), etag, lsn, serverTimeMs }
    if (text === undefined) return { ...absent(id), serverTimeMs }
    const body = [documentText(text)]
    return { status: 200, charge: readCharge(text.length), etag, lsn, serverTimeMs, body }
  })

/** As the error would be answered, and beside it what every answer of a range has. */
function absent(id: string): RangeOutcome {
  const error = new ResourceNotFoundError('document', id)
  const { status, name, message } = wireError(error)
  const body = [JSON.stringify({ code: name, message })]
  return { status, charge: readCharge(0), headers: ownErrorHeaders(error), body }
}
