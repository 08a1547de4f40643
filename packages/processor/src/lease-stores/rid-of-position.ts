import { decodeContinuation, errorCode } from '@tidemark/contracts'

/** `_rid` of the collection that a position is of; undefined for feeds with a text of their own. */
export function ridOfPosition(continuation: string): string | undefined {
  try {
    return decodeContinuation(continuation).collectionRid
  } catch (error) {
    if (errorCode(error) !== 'ERR_INVALID_CONTINUATION') throw error
    return undefined
  }
}
