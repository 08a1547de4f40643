import { errorCode } from '@tidemark/contracts'

/** One line for people and scripts: the code, then what happened. */
export function errorLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const code = errorCode(error) ?? 'ERR_FAILED'
  return `tidemark: ${code}: ${message.replaceAll(/\s*\n\s*/g, ' ')}`
}
