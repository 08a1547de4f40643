import { errorCode } from '@tidemark/contracts'

/** Codes of Node for "nobody took the connection"; with any other the request may have arrived. */
const REFUSALS: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'])

/** Whether a request that failed did so before anything of it was sent. */
export function isConnectionRefused(error: unknown): boolean {
  // `fetch` wraps what the socket said, and several addresses make a list of what each said.
  for (let cause: unknown = error, depth = 0; depth < 4; depth++) {
    if (REFUSALS.has(errorCode(cause) ?? '')) return true
    if (!(cause instanceof Error)) return false
    const { cause: next } = cause
    cause = next instanceof AggregateError ? (next.errors[0] as unknown) : next
  }
  return false
}
