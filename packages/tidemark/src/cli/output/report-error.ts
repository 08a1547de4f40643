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
  const lines = text.split('\n').map((line) => line.trim())
  return visible(hideCredentials(lines.filter((line) => line !== '').join(' ')))
}
