/**
 * Base of every error that Tidemark throws on purpose.
 *
 * Callers branch on `code`, never on the message or on `instanceof` across packages.
 */
export abstract class CodedError extends Error {
  /** Stable across releases; removing one is a breaking change. */
  abstract readonly code: `ERR_${string}`
  /** True when the same call may succeed later with nothing changed by the caller. */
  abstract readonly retryable: boolean
}

/** The code of a coded error, from any copy of this package; undefined for every other value. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  const { code } = error
  return typeof code === 'string' ? code : undefined
}
