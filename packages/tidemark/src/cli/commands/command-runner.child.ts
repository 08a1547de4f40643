import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { exitCodesOf } from '../exit-codes.ts'
import { runCommand } from '../run-command.ts'

/** How a command ended, and what it said. For tests; commands that are killed run as processes instead. */
export interface EndedCommand {
  readonly code: number
  readonly output: string
  readonly errors: string
}

/** Runs a command in this process. */
export function tidemark(...args: readonly string[]): Promise<EndedCommand> {
  return tidemarkReading(Readable.from([]), ...args)
}

/** The same with a standard input. If that is a terminal, so is the error output. */
export async function tidemarkReading(
  input: Readable & { readonly isTTY?: boolean },
  ...args: readonly string[]
): Promise<EndedCommand> {
  const texts = { output: '', errors: '' }
  const output = new PassThrough()
  const errors = new PassThrough()
  output.on('data', (piece) => {
    texts.output += String(piece)
  })
  errors.on('data', (piece) => {
    texts.errors += String(piece)
  })
  const interactive = input.isTTY === true
  const code = await runCommand(args, { input, output, errors, interactive })
  const known = [1, 2, 3].flatMap((words) => exitCodesOf(args.slice(0, words).join(' ')))
  assert(known.includes(code), `exitCodesOf does not know that ${args[0]} can end with ${code}`)
  return { code, ...texts }
}

/** The values of JSON lines. */
export function jsonLines(text: string): readonly Record<string, unknown>[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}
