import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'

const run = promisify(execFile)

export interface EnsurePgBouncerOptions {
  /** Folder for packages that are unpacked without root. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being installed, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/** A program, and its version as in `[1, 21]`. */
export interface PgBouncerProgram {
  readonly path: string
  readonly version: readonly [major: number, minor: number]
}

/**
 * A `pgbouncer` executable: `PGBOUNCER_BIN`, then the one on PATH or in `/usr/sbin`, then what an earlier call
 * unpacked; installed from Debian's packages when the machine has none. Rejects with one clear line when that is
 * impossible; it never answers with something that was not tried.
 */
export async function ensurePgBouncer(
  options: EnsurePgBouncerOptions = {},
): Promise<PgBouncerProgram> {
  const cacheFolder = cacheFolderOf(options)
  const found = await findProgram(cacheFolder)
  if (found !== undefined) return found
  const report = options.onProgress ?? (() => {})
  try {
    if (process.getuid?.() === 0) await installAsRoot(report)
    else await unpackWithoutRoot(cacheFolder, report)
  } catch (cause) {
    throw new Error(`${NO_PGBOUNCER} Installing it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const installed = await findProgram(cacheFolder)
  if (installed === undefined) throw new Error(`${NO_PGBOUNCER} The installed package has none.`)
  return installed
}

const NO_PGBOUNCER = 'No pgbouncer: set PGBOUNCER_BIN to one, or put it on PATH.'
const DEBIAN_PACKAGES = ['pgbouncer', 'libevent-2.1-7', 'libc-ares2']
/** Where Debian puts it, which is on PATH only for root. */
const SYSTEM_FOLDER = '/usr/sbin'

async function findProgram(cacheFolder: string): Promise<PgBouncerProgram | undefined> {
  const named = process.env['PGBOUNCER_BIN']
  if (named !== undefined && named !== '') {
    const program = await programAt(named)
    if (program !== undefined) return program
    // Falling back to another one would hide that the caller's choice is not what is tested.
    throw new Error(`PGBOUNCER_BIN is set to ${named}, which does not run as PgBouncer`)
  }
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const paths = [...folders, SYSTEM_FOLDER].map((folder) => join(folder, 'pgbouncer'))
  for (const path of [...paths, wrapperPath(cacheFolder)]) {
    if (!(await isExecutable(path))) continue
    const program = await programAt(path)
    if (program !== undefined) return program
  }
  return undefined
}

async function programAt(path: string): Promise<PgBouncerProgram | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 })
    const [, major, minor] = /PgBouncer (\d+)\.(\d+)/i.exec(stdout) ?? []
    if (major === undefined || minor === undefined) return undefined
    return { path, version: [Number(major), Number(minor)] }
  } catch {
    return undefined
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const MAX_OUTPUT = 16 * 1024 * 1024

async function installAsRoot(report: (line: string) => void): Promise<void> {
  report('installing pgbouncer with apt-get')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update'], { env, timeout: 180_000, maxBuffer: MAX_OUTPUT })
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'pgbouncer'], {
    env,
    timeout: 300_000,
    maxBuffer: MAX_OUTPUT,
  })
}

function wrapperPath(cacheFolder: string): string {
  return join(cacheFolder, 'pgbouncer', 'pgbouncer')
}

async function unpackWithoutRoot(
  cacheFolder: string,
  report: (line: string) => void,
): Promise<void> {
  report(`unpacking pgbouncer into ${join(cacheFolder, 'pgbouncer')}`)
  // Built aside and renamed, so that two commands at once, or one that was killed, leave nothing half-made.
  const target = join(cacheFolder, `pgbouncer-${process.pid}`)
  await mkdir(target, { recursive: true })
  try {
    await run('apt-get', ['download', ...DEBIAN_PACKAGES], {
      cwd: target,
      timeout: 180_000,
      maxBuffer: MAX_OUTPUT,
    })
    for (const file of await readdir(target)) {
      if (file.endsWith('.deb')) await run('dpkg', ['-x', file, 'root'], { cwd: target })
    }
    const wrapper = join(target, 'pgbouncer')
    await writeFile(wrapper, WRAPPER)
    await chmod(wrapper, 0o755)
    await rm(join(cacheFolder, 'pgbouncer'), { recursive: true, force: true })
    await rename(target, join(cacheFolder, 'pgbouncer'))
  } finally {
    await rm(target, { recursive: true, force: true })
  }
}

/** `exec` keeps the process id, so that signals sent to the child reach the program itself. */
const WRAPPER = `#!/bin/sh
root="$(cd "$(dirname "$0")" && pwd)/root/usr"
for folder in "$root"/lib "$root"/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH="$folder\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$root/sbin/pgbouncer" "$@"
`
