import type { Readable, Writable } from 'node:stream'

/** What commands use of their process. */
export interface CommandContext {
  readonly input: Readable
  readonly output: Writable
  readonly errors: Writable
  /** Whether `errors` is a terminal, so that lines can be overwritten. */
  readonly interactive: boolean
}

export function processContext(): CommandContext {
  const { stdin: input, stdout: output, stderr: errors } = process
  return { input, output, errors, interactive: errors.isTTY === true }
}
