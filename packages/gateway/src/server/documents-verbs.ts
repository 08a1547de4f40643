import { runBulk } from '../documents/bulk.ts'
import { planQuery, queryDocuments } from '../documents/query-documents.ts'
import { readAllDocuments } from '../documents/read-all-documents.ts'
import { runBatch } from '../documents/transactional-batch.ts'
import { createDocument } from '../documents/write-document.ts'
import { readFullFidelityFeed } from '../feed/read-full-fidelity-feed.ts'
import { readIncrementalFeed } from '../feed/read-incremental-feed.ts'
import { HEADER } from '../protocol/header-names.ts'
import { isTrue } from '../protocol/request-values.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { isQuery } from '../requests/query-or.ts'

/** POST …/docs has five meanings; headers say which. */
export const postDocuments: Operation = async (request, context) => {
  const { header } = request
  if (isTrue(header(HEADER.isBatch))) {
    return isTrue(header(HEADER.batchAtomic))
      ? runBatch(request, context)
      : runBulk(request, context)
  }
  if (isTrue(header(HEADER.isQueryPlan))) return planQuery(request, context)
  if (isQuery(request)) return queryDocuments(request, context)
  return createDocument(request, context)
}

/** GET …/docs is a change feed where `A-IM` says so, else a list of all documents. */
export const getDocuments: Operation = async (request, context) => {
  switch (request.header(HEADER.aIm)?.toLowerCase()) {
    case 'incremental feed':
      return readIncrementalFeed(request, context)
    case 'full-fidelity feed':
      return readFullFidelityFeed(request, context)
    default:
      return readAllDocuments(request, context)
  }
}
