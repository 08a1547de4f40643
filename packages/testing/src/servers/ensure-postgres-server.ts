import { execFile } from 'node:child_process'
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { foldersOfPath, isExecutable } from './executables.ts'
import {
  installPostgresAsRoot,
  unpackedPostgresFolder,
  unpackPostgresWithoutRoot,
} from './install-postgres.ts'

const run = promisify(execFile)

/** The oldest PostgreSQL that Tidemark runs on. */
const OLDEST_MAJOR = 15
/** Where Debian and its descendants put one folder a major version. */
const DEBIAN_FOLDER = '/usr/lib/postgresql'
/** What the kit cannot do without. `initdb` is the one that a machine with only the client lacks. */
const PROGRAMS = ['postgres', 'initdb'] as const

export interface EnsurePostgresServerOptions {
  /** Folder for packages that are unpacked without root. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being installed, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * The folder of PostgreSQL's server programs (`postgres`, `initdb`, and `pg_basebackup` if there is one), version 15 or later:
 * `POSTGRES_BIN`, then the folder of the `postgres` on PATH (links followed), then the newest below
 * `/usr/lib/postgresql`, then what an earlier call unpacked; installed from Debian's packages when the
 * machine has none. Rejects with one clear line when that is impossible; it never answers with programs
 * that were not tried.
 */
export async function ensurePostgresServer(
  options: EnsurePostgresServerOptions = {},
): Promise<string> {
  const cacheFolder = cacheFolderOf(options)
  const before = await findPrograms(cacheFolder)
  if (before.folder !== undefined) return before.folder
  const report = options.onProgress ?? (() => {})
  try {
    if (process.getuid?.() === 0) await installPostgresAsRoot(report)
    else await unpackPostgresWithoutRoot(cacheFolder, report)
  } catch (cause) {
    const reason = `Installing it failed: ${aptErrorLine(cause)}`
    throw new Error(`${noPostgres(before.refused)} ${reason}`, { cause })
  }
  const after = await findPrograms(cacheFolder)
  if (after.folder !== undefined) return after.folder
  throw new Error(`${noPostgres(after.refused)} The installed package has none.`)
}

interface Found {
  readonly folder: string | undefined
  /** Why folders that looked right were not taken. */
  readonly refused: readonly string[]
}

async function findPrograms(cacheFolder: string): Promise<Found> {
  const named = process.env['POSTGRES_BIN']
  if (named !== undefined && named !== '') {
    const problem = await problemOf(named)
    if (problem === undefined) return { folder: named, refused: [] }
    // Falling back to another server would hide that the caller's choice is not what is tested.
    throw new Error(`POSTGRES_BIN is set to ${named}: ${problem}`)
  }
  const refused: string[] = []
  const candidates = [
    ...(await foldersOnPath()),
    ...(await debianFolders()),
    unpackedPostgresFolder(cacheFolder),
  ]
  for (const folder of candidates) {
    if (!(await isExecutable(join(folder, 'postgres')))) continue
    const problem = await problemOf(folder)
    if (problem === undefined) return { folder, refused }
    refused.push(`${folder}: ${problem}`)
  }
  return { folder: undefined, refused }
}

/** Undefined when the folder has all programs, they run, and they are new enough. */
async function problemOf(folder: string): Promise<string | undefined> {
  for (const program of PROGRAMS) {
    const version = await majorVersion(join(folder, program))
    if (version === undefined) return `its ${program} does not run as PostgreSQL's`
    if (version < OLDEST_MAJOR) {
      return `its ${program} is PostgreSQL ${version}, ${OLDEST_MAJOR} or later is needed`
    }
  }
  return undefined
}

async function majorVersion(path: string): Promise<number | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 })
    const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]
    return major === undefined ? undefined : Number(major)
  } catch {
    return undefined
  }
}

async function foldersOnPath(): Promise<string[]> {
  const found: string[] = []
  for (const folder of foldersOfPath()) {
    try {
      // A link on PATH may name only `postgres`; the other programs are where it leads.
      found.push(dirname(await realpath(join(folder, 'postgres'))))
    } catch {
      // Not in this folder.
    }
  }
  return found
}

async function debianFolders(): Promise<string[]> {
  try {
    const versions = (await readdir(DEBIAN_FOLDER)).map(Number).filter(Number.isInteger)
    return versions.toSorted((a, b) => b - a).map((major) => `${DEBIAN_FOLDER}/${major}/bin`)
  } catch {
    return []
  }
}

function noPostgres(refused: readonly string[]): string {
  const wanted = `No PostgreSQL ${OLDEST_MAJOR} or later`
  const advice = 'set POSTGRES_BIN to the folder of its server programs, or put them on PATH.'
  return [`${wanted}: ${advice}`, ...refused.map((reason) => `Not taken: ${reason}.`)].join(' ')
}
