import { errorCode, LeaseStorageError, LeaseStoreUnavailableError } from '@tidemark/contracts'

/** Replies that stay the same until somebody changes data or rights. */
const STORAGE_REPLY =
  /\b(?:WRONGTYPE|TIDEMARKSCHEMA|NOPERM|NOAUTH|WRONGPASS|CROSSSLOT)\b|\bexecuting the script can't\b|\bACL failure in script\b/
const FORBIDDEN = /\bNOPERM\b|\bnot (allowed|permitted|supported)\b|\bunknown subcommand\b/i
const UNKNOWN_COMMAND = /\bunknown (Redis )?command\b/i

/**
 * What an error of the client means for leases. Not being able to reach the server, and every state
 * that it may leave by itself (READONLY, OOM, LOADING, MISCONF, CLUSTERDOWN, …), is retryable.
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

/** The server will not do this for this user, or at all: rights, renamed or missing commands, managed services. */
export function isForbidden(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return FORBIDDEN.test(error.message) || UNKNOWN_COMMAND.test(error.message)
}

/** The server forgot its scripts: a restart, a fail-over or SCRIPT FLUSH. */
export function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}
