import { globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Tarball } from '../pack-all.ts'
import { outputOf, type Run } from '../run-program.ts'

const BUILT = /^(?:dashboard\/)?dist\//

/** Removes what earlier builds left in the folders that are published: nothing of a commit says where it comes from. */
export function removeBuilt(root: string): void {
  for (const folder of globSync(['packages/*/dist', 'packages/*/dashboard/dist'], { cwd: root })) {
    rmSync(join(root, folder), { recursive: true })
  }
}

/** What was neither built nor committed, but packed, because git ignores it; one line each. */
export async function strayProblems(
  root: string,
  { tarballs, run }: { readonly tarballs: readonly Tarball[]; readonly run: Run },
): Promise<readonly string[]> {
  const committed = await outputOf(run, 'git', ['ls-files', '-z', 'packages'], { cwd: root })
  const known = new Set(committed.split('\0'))
  return tarballs.flatMap(({ folder, files }) =>
    files
      .filter((file) => !BUILT.test(file) && !known.has(`packages/${folder}/${file}`))
      .map((file) => `packages/${folder} publishes ${file}, which is not in the commit`),
  )
}
