import { errorCode } from '@tidemark/contracts'

/** Code or class of an error. Never its message, which may hold ids. */
export function errorTypeOf(error: unknown): string {
  const code = errorCode(error)
  if (code !== undefined) return code
  return error instanceof Error ? error.name : '_OTHER'
}
