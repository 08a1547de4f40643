import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where programs that are unpacked without root, and whatever is costly to make again, are kept. */
export function cacheFolderOf({ cacheFolder }: { cacheFolder?: string | undefined }): string {
  return cacheFolder ?? join(workspaceRoot(), '.cache')
}

/** The root of this repository when run from its sources, else the working folder. */
function workspaceRoot(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  const marker = join('packages', 'testing', 'src', 'servers')
  return here.endsWith(marker) ? here.slice(0, -marker.length - 1) : process.cwd()
}
