import { readFile } from 'node:fs/promises'
import { errorCode } from '@tidemark/contracts'
import { InputError } from './input-error.ts'

/** The value in a file of JSON. Rejects with ERR_INPUT. */
export async function readJsonFile(file: string): Promise<unknown> {
  try {
    const text = await readFile(file, 'utf8')
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return value
  } catch (cause) {
    const why =
      cause instanceof SyntaxError
        ? `is not JSON: ${cause.message}`
        : `cannot be read: ${errorCode(cause) ?? 'it failed'}`
    throw new InputError(`${file} ${why}`, { cause })
  }
}
