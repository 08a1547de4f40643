import type { Credentials } from '../../dashboard/access.ts'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'

/**
 * The credentials in a file: a line each, `basic user:password` or `bearer token`. Empty lines and those that begin with # count for
 * nothing. Undefined without a file. Rejects with ERR_INPUT, which shows no credentials.
 */
export async function readCredentials(file: string | undefined): Promise<Credentials | undefined> {
  if (file === undefined) return undefined
  let text: string
  try {
    text = await readPrivateFile(file, { links: 'follow' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`--credentials-file ${file} cannot be read: ${reason}`, { cause })
  }
  const found = { basic: new Array<string>(), bearer: new Array<string>() }
  for (const [index, given] of text.split('\n').entries()) {
    const line = given.trim()
    if (line === '' || line.startsWith('#')) continue
    const [, scheme, value = ''] = /^(basic|bearer)\s+(\S.*)$/i.exec(line) ?? []
    const isBasic = scheme?.toLowerCase() === 'basic'
    if (scheme === undefined || (isBasic ? !/^[^:]+:./.test(value) : /\s/.test(value))) {
      throw new InputError(
        `--credentials-file ${file}: line ${index + 1} must be "basic user:password" or "bearer token"`,
      )
    }
    found[isBasic ? 'basic' : 'bearer'].push(value)
  }
  if (found.basic.length + found.bearer.length === 0) {
    throw new InputError(`--credentials-file ${file} holds no credentials`)
  }
  return found
}
