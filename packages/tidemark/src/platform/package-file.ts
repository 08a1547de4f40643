import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** A file or folder of this package, by its path below it. In a bundle it is that of the installed package. */
export function packageFile(path: string): URL {
  // A CommonJS bundle has no import.meta.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href
  // From `src/platform` and `dist/chunks`, and from `dist`.
  const roots = ['../../', '../'].map((root) => new URL(root, here))
  const root = roots.find((folder) => existsSync(new URL('dashboard/', folder)))
  return new URL(path, root ?? import.meta.resolve('tidemark/package.json'))
}
