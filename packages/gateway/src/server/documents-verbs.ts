import { readIncrementalFeed } from '../feed/read-incremental-feed.ts'
import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'
import { HEADER } from '../protocol/header-names.ts'
import { isTrue } from '../protocol/request-values.ts'
import { isQuery } from '../requests/query-or.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { createDocument } from '../documents/write-document.ts'

/** POST …/docs has five meanings, told apart by headers. */
export const postDocuments: Operation = async (request, context) => {
  const { header } = request
  if (isTrue(header(HEADER.isBatch))) throw new UnsupportedRequestError('batches: not yet')
  if (isTrue(header(HEADER.isQueryPlan))) throw new UnsupportedRequestError('query plans: not yet')
  if (isQuery(request)) throw new UnsupportedRequestError('queries: not yet')
  return createDocument(request, context)
}

/** GET …/docs is a change feed where `A-IM` says so, else a list of all documents. */
export const getDocuments: Operation = async (request, context) => {
  const mode = request.header(HEADER.aIm)?.toLowerCase()
  if (mode === 'incremental feed') return readIncrementalFeed(request, context)
  throw new UnsupportedRequestError('plain document feeds: not yet')
}
