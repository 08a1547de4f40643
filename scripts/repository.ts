import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Where this working tree is. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Where readers find the repository: what package.json of the root says, without what only git needs. */
export const ADDRESS = addressOf(readFileSync(`${ROOT}/package.json`, 'utf8'))

/** The page of a file or folder on the main branch. */
export function pageOf(path: string, kind: 'blob' | 'tree'): string {
  return `${ADDRESS}/${kind}/main/${path}`
}

/** The sources of all packages without what only tests and benchmarks run, relative to the root. */
export function packageSources(root: string): readonly string[] {
  return globSync('packages/*/src/**/*.ts', { cwd: root })
    .filter((path) => !/\.(?:test|fixture|child|bench)\.ts$/.test(path))
    .toSorted()
}

function addressOf(manifest: string): string {
  const { repository } = JSON.parse(manifest) as { readonly repository: { readonly url: string } }
  return repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}
