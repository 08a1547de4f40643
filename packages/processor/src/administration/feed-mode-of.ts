import { decodeContinuation, errorCode, type FeedMode } from '@tidemark/contracts'

/** The mode that positions are of. Those of feeds with a text of their own tell nothing. */
export function feedModeOf(continuations: readonly string[]): FeedMode | undefined {
  for (const continuation of continuations) {
    try {
      return decodeContinuation(continuation).mode
    } catch (error) {
      if (errorCode(error) !== 'ERR_INVALID_CONTINUATION') throw error
    }
  }
  return undefined
}
