import { basename, resolve } from 'node:path'
import { RefusedError } from './refused-error.ts'

const MAX_LENGTH = 214
const TAKEN: ReadonlySet<string> = new Set(['node_modules', 'favicon.ico', 'tidemark'])

/**
 * The name of the package in a folder: the folder's own.
 *
 * @throws RefusedError when npm, Docker or a shell would not take it
 */
export function projectName(folder: string): string {
  const name = basename(resolve(folder))
  const problem = nameProblem(name)
  if (problem === undefined) return name
  throw new RefusedError(`${JSON.stringify(name)} cannot be the name of a package: ${problem}`)
}

function nameProblem(name: string): string | undefined {
  if (TAKEN.has(name)) return 'it is taken; choose another folder'
  if (name.length > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`
  if (/^[a-z0-9]+(?:[._-][a-z0-9]+)*$/.test(name)) return undefined
  return 'use small letters and digits, with single dots, dashes or underscores between them'
}
