import { BadQueryError } from '../bad-query-error.ts'

/** An error that says where in the text it is, as line and column, both from 1. */
export function badQueryAt(text: string, offset: number, what: string): BadQueryError {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - (before.lastIndexOf('\n') + 1) + 1
  return new BadQueryError(`${what} at line ${line}, column ${column}`, { offset })
}
