import { describeValue } from '@tidemark/contracts/internal'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'

/** The service's, too. */
const MAX_TOP = 100

/** A part of a list. */
export interface Page {
  readonly skip: number
  readonly top: number
}

/** `$skip` and `$top` of a query. A larger `$top` gets pages of 100. @throws ERR_INVALID_REQUEST */
export function readPage(query: URLSearchParams): Page {
  return {
    skip: numberIn(query, '$skip', { least: 0, otherwise: 0 }),
    top: Math.min(numberIn(query, '$top', { least: 1, otherwise: MAX_TOP }), MAX_TOP),
  }
}

function numberIn(
  query: URLSearchParams,
  name: string,
  { least, otherwise }: { readonly least: number; readonly otherwise: number },
): number {
  const text = query.get(name)
  if (text === null) return otherwise
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (value >= least) return value
  throw new InvalidRequestError(
    `${name} must be an integer from ${least} up, got ${describeValue(text)}.`,
  )
}
