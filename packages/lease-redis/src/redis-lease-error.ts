import { errorCode, LeaseStorageError, LeaseStoreUnavailableError } from '@tidemark/contracts'

/** Replies that stay the same until the data or the rights change. */
const STORAGE_REPLY =
  /\b(?:WRONGTYPE|TIDEMARKSCHEMA|NOPERM|NOAUTH|WRONGPASS|CROSSSLOT)\b|\bexecuting the script can't\b|\bACL failure in script\b/
const FORBIDDEN = /\bNOPERM\b|\bnot (allowed|permitted|supported)\b|\bunknown subcommand\b/i
const UNKNOWN_COMMAND = /\bunknown (Redis )?command\b/i

/**
 * The coded error for an error of the client. A server that cannot be reached is retryable, and so is every state that
 * can end without intervention (READONLY, OOM, LOADING, MISCONF, CLUSTERDOWN, …).
 */
export function redisLeaseError(
  error: unknown,
  description: string,
  signal?: AbortSignal,
): unknown {
  if (signal?.aborted === true && error === signal.reason) return error
  if (errorCode(error)?.startsWith('ERR_LEASE') === true) return error
  const message = error instanceof Error ? error.message : String(error)
  if (STORAGE_REPLY.test(message) || UNKNOWN_COMMAND.test(message)) {
    return new LeaseStorageError(`${description}: ${message}`, { cause: error })
  }
  return new LeaseStoreUnavailableError(`${description}: ${message}`, { cause: error })
}

/** The server does not allow this for this user, or at all: rights, renamed or missing commands, managed services. */
export function isForbidden(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return FORBIDDEN.test(error.message) || UNKNOWN_COMMAND.test(error.message)
}

/** The server lost its scripts: a restart, a fail-over or SCRIPT FLUSH. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
