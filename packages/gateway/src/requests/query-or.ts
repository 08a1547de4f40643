import { HEADER } from '../protocol/header-names.ts'
import { isTrue } from '../protocol/request-values.ts'
import type { GatewayRequest, Operation } from './gateway-request.ts'

/** Whether an operation may be done with a key that only reads. `byHeaders`: where `readsOnly` says so. */
export type Access = 'read' | 'write' | 'byHeaders'

/** Whether a POST whose headers tell what it is changes nothing: a query or a plan, and no batch. */
export function readsOnly(request: Pick<GatewayRequest, 'header'>): boolean {
  const { header } = request
  if (isTrue(header(HEADER.isBatch))) return false
  return isTrue(header(HEADER.isQueryPlan)) || isQuery(request)
}

/**
 * A POST is a query where its headers say so, else it makes something: by the very judgement that decides which key is
 * enough for it.
 */
export function queryOr(query: Operation, create: Operation): Operation {
  return (request, context) =>
    readsOnly(request) ? query(request, context) : create(request, context)
}

/** Whether a POST is a query. */
export function isQuery({ header }: Pick<GatewayRequest, 'header'>): boolean {
  return (
    isTrue(header(HEADER.isQuery)) ||
    header(HEADER.contentType)?.startsWith('application/query+json') === true
  )
}
