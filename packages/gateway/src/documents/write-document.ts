import { type DocumentBody, type WriteOptions, BadRequestError } from '@tidemark/contracts'
import { type JsonRecord } from '@tidemark/contracts/internal'
import type { TextWriteResult } from '@tidemark/store'
import { NOT_SUPPORTED, refusalOf } from '../errors/not-supported.ts'
import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'
import { HEADER } from '../protocol/header-names.ts'
import { writeCharge } from '../protocol/request-charge.ts'
import { isTrue, parseJsonRecord } from '../protocol/request-values.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { addressedId } from './addressed-id.ts'
import { documentText } from './document-text.ts'
import { checkTtl } from './document-ttl.ts'
import { inKeyScope, type RangeOutcome } from './key-scope.ts'

/** POST /dbs/{db}/colls/{coll}/docs: create, or upsert where the header says so. */
export const createDocument: Operation = async (request, context) => {
  const document = documentBody(parseJsonRecord(await request.readBody()))
  checkTtl({ document })
  const isUpsert = isTrue(request.header(HEADER.isUpsert))
  return inKeyScope(request, context, async (scope) => {
    const { collection, partitionKey } = scope
    const options = { ...writeOptions(request), partitionKey }
    const result = isUpsert
      ? await collection.upsert(document, options)
      : await collection.create(document, { ...options, ifMatch: undefined })
    return written(request, result, result.created ? 201 : 200)
  })
}

/** PUT /dbs/{db}/colls/{coll}/docs/{id} */
export const replaceDocument: Operation = async (request, context) => {
  const document = documentBody(parseJsonRecord(await request.readBody()))
  return inKeyScope(request, context, async (scope) => {
    const id = await addressedId(request, scope, context)
    if (document.id !== id) {
      throw new BadRequestError(
        `the id of a document cannot be changed: the path says ${JSON.stringify(id)}, ` +
          `the body ${JSON.stringify(document.id)}`,
      )
    }
    const options = { ...writeOptions(request), partitionKey: scope.partitionKey }
    checkTtl({ document })
    const result = await scope.collection.replace(document, options)
    return written(request, result, 200)
  })
}

/** DELETE /dbs/{db}/colls/{coll}/docs/{id} */
export const deleteDocument: Operation = async (request, context) =>
  inKeyScope(request, context, async (scope) => {
    const { collection, partitionKey } = scope
    const id = await addressedId(request, scope, context)
    const deleted = await collection.delete(id, partitionKey, writeOptions(request))
    return { status: 204, charge: writeCharge(0), ...deleted }
  })

/**
 * `If-Match` and `If-None-Match` of a write.
 *
 * @throws ERR_UNSUPPORTED_REQUEST for one that is to run triggers
 */
export function writeOptions({ header, signal }: GatewayRequest): WriteOptions {
  if ((header(HEADER.preTriggers) ?? header(HEADER.postTriggers)) !== undefined) {
    throw new UnsupportedRequestError(refusalOf(NOT_SUPPORTED.triggers))
  }
  return { ifMatch: header(HEADER.ifMatch), ifNoneMatch: header(HEADER.ifNoneMatch), signal }
}

/** The outcome of a write: with the document, unless the client asked for less. */
export function written(
  request: GatewayRequest,
  { text, etag, lsn, serverTimeMs }: TextWriteResult<DocumentBody>,
  status: number,
): RangeOutcome {
  const isMinimal = request.header(HEADER.prefer) === 'return=minimal'
  return {
    status,
    charge: writeCharge(text.length),
    lsn,
    etag,
    serverTimeMs,
    body: isMinimal ? [] : [documentText(text)],
  }
}

/** A client's document; the store judges its id. */
export function documentBody(value: JsonRecord): DocumentBody {
  // The store checks the id and everything else of whatever it is given.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return value as unknown as DocumentBody
}
