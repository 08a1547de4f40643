import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where this working tree is. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Where readers find the repository: what package.json of the root says, without what only git needs. */
export const ADDRESS = addressOf(readFileSync(`${ROOT}/package.json`, 'utf8'))

/** The page of a file or folder on the main branch. */
export function pageOf(path: string, kind: 'blob' | 'tree'): string {
  return `${ADDRESS}/${kind}/main/${path}`
}

function addressOf(manifest: string): string {
  const { repository } = JSON.parse(manifest) as { readonly repository: { readonly url: string } }
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}
