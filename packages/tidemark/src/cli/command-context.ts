import type { Readable, Writable } from 'node:stream'

/** What commands use of the process they run in. */
export interface CommandContext {
  readonly input: Readable
  readonly output: Writable
  readonly errors: Writable
  /** Whether a person watches `errors`, so that lines may be drawn over. */
  readonly interactive: boolean
}

export function processContext(): CommandContext {
  const { stdin: input, stdout: output, stderr: errors } = process
  return { input, output, errors, interactive: errors.isTTY === true }
}
