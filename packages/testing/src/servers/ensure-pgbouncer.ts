import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { installDebianPackage, unpackDebianPackages, writeWrapper } from './debian-packages.ts'
import { foldersOfPath, isExecutable } from './executables.ts'

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
    if (process.getuid?.() === 0) await installDebianPackage('pgbouncer', report)
    else await unpack(join(cacheFolder, 'pgbouncer'), report)
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
  const paths = [...foldersOfPath(), SYSTEM_FOLDER].map((folder) => join(folder, 'pgbouncer'))
  for (const path of [...paths, join(cacheFolder, 'pgbouncer', 'pgbouncer')]) {
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

function unpack(folder: string, report: (line: string) => void): Promise<void> {
  return unpackDebianPackages({
    packages: DEBIAN_PACKAGES,
    folder,
    report,
    finish: (made) =>
      writeWrapper({ path: join(made, 'pgbouncer'), folder: made, program: 'sbin/pgbouncer' }),
  })
}
