import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { Report } from './debian-packages.ts'

const run = promisify(execFile)

/**
 * The folder of a package that npm has put into `cacheFolder`, once; its scripts do not run. For programs that the
 * repository does not depend on, at versions of their own.
 */
export async function ensureNpmPackage(
  name: string,
  {
    version,
    cacheFolder,
    report,
  }: { readonly version: string; readonly cacheFolder: string; readonly report: Report },
): Promise<string> {
  const folder = join(cacheFolder, 'npm', `${basename(name)}-${version}`)
  const installed = join(folder, 'node_modules', name)
  if (existsSync(installed)) return installed
  report(`fetching ${name}@${version} with npm`)
  // Built aside and renamed, so that two commands at once, or one that was killed, leave nothing half-made.
  const target = `${folder}-${process.pid}`
  await mkdir(target, { recursive: true })
  try {
    await writeFile(join(target, 'package.json'), '{"private":true}')
    const wanted = [`${name}@${version}`, '--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', ['install', ...wanted], { cwd: target, timeout: 300_000 })
    if (!existsSync(installed)) await rename(target, folder).catch(() => {})
  } catch (cause) {
    throw new Error(`npm cannot fetch ${name}@${version}, see the cause`, { cause })
  } finally {
    await rm(target, { recursive: true, force: true })
  }
  return installed
}
