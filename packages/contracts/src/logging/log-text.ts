import { errorCode } from '../errors/coded-error.ts'
import { hideCredentials } from '../errors/hide-credentials.ts'

/** Messages of errors may hold documents. */
const MAX_TEXT = 2_000
const MAX_CAUSES = 3

/** A text for a log: one line, of a bounded length, without passwords. */
export function logText(text: string): string {
  // Cut before and after: a search in a whole document would take long, and a cut password is not found.
  const told = hideCredentials(text.slice(0, 2 * MAX_TEXT))
  // Control characters would end the line, or drive the terminal.
  const line = told.replaceAll(/\p{Cc}+\s*/gu, ' ')
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line
}

/** Code or name, message, where it was thrown unless it is one of ours, and causes. */
export function describeError(error: unknown): string {
  try {
    return description(error, 0)
  } catch {
    // Its getters throw.
    return 'an error that cannot be read'
  }
}

function description(error: unknown, causes: number): string {
  if (!(error instanceof Error)) return String(error)
  const code = errorCode(error)
  const place = code === undefined ? /^ +at (.+)$/m.exec(error.stack ?? '')?.[1] : undefined
  const text = `${code ?? error.name}: ${error.message}${place === undefined ? '' : ` (at ${place})`}`
  if (error.cause === undefined || causes === MAX_CAUSES) return text
  return `${text}; caused by ${description(error.cause, causes + 1)}`
}
