import { HEADER } from '../protocol/header-names.ts'
import { isTrue } from '../protocol/request-values.ts'
import type { GatewayRequest, Operation } from './gateway-request.ts'

/** A POST is a query where its headers say so, else it makes something. */
export function queryOr(query: Operation, create: Operation): Operation {
  return (request, context) =>
    isQuery(request) ? query(request, context) : create(request, context)
}

/** Whether a POST is a query. */
export function isQuery({ header }: GatewayRequest): boolean {
  return (
    isTrue(header(HEADER.isQuery)) ||
    header(HEADER.contentType)?.startsWith('application/query+json') === true
  )
}
