import {
  InvalidOptionError,
  PreconditionFailedError,
  RangeGoneError,
  ResourceNotFoundError,
} from '@tidemark/contracts'
import type { WriterResult } from './writer/writer-messages.ts'

/** The error that a caller sees for a refused request. */
export function refuse(result: WriterResult, collectionId: string): never {
  switch (result.kind) {
    case 'missing':
      throw new ResourceNotFoundError('collection', collectionId)
    case 'otherEtag':
      throw new PreconditionFailedError(collectionId, `its etag is ${result.etag}`)
    case 'invalid':
      throw new InvalidOptionError(result.message)
    case 'rangeGone':
      throw new RangeGoneError(String(result.range), result.successors)
    default:
      throw new Error(`unexpected answer ${result.kind}`)
  }
}
