import {
  CodedError,
  HorizonPassedError,
  ResourceNotFoundError,
  UniqueKeyError,
} from '@tidemark/contracts'
import { OWN_HEADER } from './extension-wire.ts'

/** What our own client needs to make the same error again: a status alone does not say which it was. */
export function ownErrorHeaders(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof CodedError)) return {}
  const detail = detailOf(error)
  return {
    [OWN_HEADER.errorCode]: error.code,
    ...(detail !== undefined && { [OWN_HEADER.errorDetail]: detail }),
  }
}

function detailOf(error: CodedError): string | undefined {
  if (error instanceof HorizonPassedError) return `${error.lsn},${error.horizon}`
  if (error instanceof ResourceNotFoundError) return error.resource
  // Headers take no more than ASCII.
  if (error instanceof UniqueKeyError)
    return error.paths.map((path) => encodeURIComponent(path.toWellFormed())).join(',')
  return undefined
}
