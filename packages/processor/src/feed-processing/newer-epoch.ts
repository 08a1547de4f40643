import { errorCode } from '@tidemark/contracts'

/** Causes of causes that are looked at. */
const CAUSE_LIMIT = 5

/**
 * The epoch of a newer owner, if that is why a sink refused what was written at `epoch`: the error, or what caused it, has
 * the code ERR_FENCED_WRITE and names this `epoch`, and a higher one as `currentEpoch`. A fence of something else, which
 * an observer keeps for itself, says nothing of its lease. Never throws, whatever was thrown.
 */
export function newerEpochOf(thrown: unknown, epoch: number): number | undefined {
  try {
    let error = thrown
    for (let depth = 0; depth <= CAUSE_LIMIT && isObject(error); depth += 1) {
      const currentEpoch = refusalOf(error, epoch)
      if (currentEpoch !== undefined) return currentEpoch
      error = 'cause' in error ? error.cause : undefined
    }
  } catch {
    // An error whose properties cannot be read says nothing.
  }
  return undefined
}

function refusalOf(error: object, epoch: number): number | undefined {
  if (errorCode(error) !== 'ERR_FENCED_WRITE') return undefined
  if (!('epoch' in error) || error.epoch !== epoch || !('currentEpoch' in error)) return undefined
  const { currentEpoch } = error
  return typeof currentEpoch === 'number' && currentEpoch > epoch ? currentEpoch : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
