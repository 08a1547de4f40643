import { errorCode } from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import { visible } from './visible.ts'

/** One line for people and scripts: the code, then what happened. */
export function errorLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const code = errorCode(error) ?? 'ERR_FAILED'
  return `tidemark: ${oneLine(`${code}: ${message}`)}`
}

/** Without line ends, control characters and passwords. */
export function oneLine(text: string): string {
  return visible(hideCredentials(text.trim().replaceAll(/\s*\n\s*/g, ' ')))
}
