import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import type { CommandContext } from '../command-context.ts'
import { InputError } from '../input-error.ts'
import { parseItem, type ParsedItem } from './parse-items.ts'
import { splitJson } from './split-json.ts'

/** The items of a file, or of the standard input for `-`. An abort ends the reading. */
export async function* readItems(
  file: string,
  { input: standardInput }: Pick<CommandContext, 'input'>,
  signal: AbortSignal,
): AsyncGenerator<ParsedItem, void, undefined> {
  const input = file === '-' ? standardInput : createReadStream(file)
  const stopReading = (): unknown => input.destroy()
  signal.addEventListener('abort', stopReading, { once: true })
  try {
    yield* parsedItems(decoded(input, signal))
  } finally {
    signal.removeEventListener('abort', stopReading)
    input.destroy()
  }
}

/** The items of JSON text. */
export async function* parsedItems(
  pieces: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<ParsedItem, void, undefined> {
  for await (const item of splitJson(pieces)) yield parseItem(item)
}

async function* decoded(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  try {
    for await (const piece of input as AsyncIterable<string | Buffer>) {
      signal.throwIfAborted()
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
    }
  } catch (cause) {
    signal.throwIfAborted()
    throw new InputError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
  yield decoder.decode()
}
