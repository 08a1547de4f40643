import { ALL_RIGHTS, type AccessPolicy, type AccessRight } from '@tidemark/messaging/front'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'

/** The policies in a file. Rejects with ERR_INPUT, which names the line and never shows a key. */
export async function readAccessPolicies(file: string): Promise<readonly AccessPolicy[]> {
  let text: string
  try {
    text = await readPrivateFile(file, { links: 'follow' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`--access-policies ${file} cannot be read: ${reason}`, { cause })
  }
  return parseAccessPolicies(text, `--access-policies ${file}`)
}

/**
 * Policies, one a line: name, rights with commas between them, one or more keys. A line that begins with `#` is a comment.
 *
 * @param place the file, for messages
 * @throws ERR_INPUT
 */
export function parseAccessPolicies(text: string, place: string): readonly AccessPolicy[] {
  const policies = new Map<string, AccessPolicy>()
  for (const [index, line] of text.split('\n').entries()) {
    const refuse = (problem: string): InputError =>
      new InputError(`${place}, line ${index + 1}: ${problem}`)
    const [name = '', rights, ...keys] = line.split(/\s+/).filter((word) => word !== '')
    if (name === '' || name.startsWith('#')) continue
    if (rights === undefined) throw refuse('it must have a name, rights and keys')
    if (policies.has(name))
      throw refuse(`there is a policy ${name} above: give it several keys there`)
    const known = rights.split(',').map((right) => ALL_RIGHTS.find((one) => isRight(one, right)))
    if (!known.every((right) => right !== undefined)) {
      throw refuse(
        `the rights must be ${ALL_RIGHTS.join(', ')}, with commas and no blanks between them`,
      )
    }
    if (keys.length === 0) throw refuse('it has no key')
    policies.set(name, { name, keys, rights: known })
  }
  if (policies.size === 0) throw new InputError(`${place} holds no policy`)
  return [...policies.values()]
}

function isRight(right: AccessRight, text: string): boolean {
  return right.toLowerCase() === text.toLowerCase()
}
