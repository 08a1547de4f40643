import { isDate } from 'node:util/types'
import { InvalidOptionError } from '../errors/invalid-option-error.ts'

/** Where a reader starts (CF-6). A date means the changes of its second and later; a date in the future means now. */
export type StartPosition = 'beginning' | 'now' | Date | { readonly continuation: string }

/** @throws ERR_INVALID_OPTION naming the option */
export function checkedStart(name: string, start: unknown): StartPosition {
  if (start === 'beginning' || start === 'now') return start
  if (isDate(start) && Number.isFinite(start.getTime())) return start
  if (typeof start === 'object' && start !== null && 'continuation' in start) {
    const { continuation } = start
    if (typeof continuation === 'string') return { continuation }
  }
  throw new InvalidOptionError(
    `${name} must be "beginning", "now", a valid date or { continuation }, got ${String(start)}`,
  )
}
