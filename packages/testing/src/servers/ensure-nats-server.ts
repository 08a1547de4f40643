import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { unpackDebianPackages, writeWrapper } from './debian-packages.ts'
import { foldersOfPath, isExecutable } from './executables.ts'

const run = promisify(execFile)

export interface EnsureNatsServerOptions {
  /** Folder for packages that are unpacked. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being unpacked, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/** A program, and its version as in `2.9.10`. */
export interface NatsServerProgram {
  readonly path: string
  readonly version: string
}

/**
 * A `nats-server` executable: `NATS_SERVER_BIN`, then the one on PATH or in `/usr/sbin`, then what an earlier call
 * unpacked; else Debian's package is downloaded and unpacked. It is never installed, because an installed one also
 * starts with the machine. Rejects with one clear line when there is none.
 */
export async function ensureNatsServer(
  options: EnsureNatsServerOptions = {},
): Promise<NatsServerProgram> {
  const folder = join(cacheFolderOf(options), 'nats')
  const found = await findProgram(folder)
  if (found !== undefined) return found
  const { onProgress: report = () => {} } = options
  try {
    await unpackDebianPackages({
      packages: ['nats-server'],
      folder,
      report,
      finish: (made) =>
        writeWrapper({ path: join(made, PROGRAM), folder: made, program: `sbin/${PROGRAM}` }),
    })
  } catch (cause) {
    throw new Error(`${NO_NATS} Unpacking it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const unpacked = await findProgram(folder)
  if (unpacked === undefined) throw new Error(`${NO_NATS} The unpacked package has none.`)
  return unpacked
}

const PROGRAM = 'nats-server'
const NO_NATS = 'No nats-server: set NATS_SERVER_BIN to one, or put it on PATH.'
/** Where Debian puts it, which is on PATH only for root. */
const SYSTEM_FOLDER = '/usr/sbin'

async function findProgram(folder: string): Promise<NatsServerProgram | undefined> {
  const named = process.env['NATS_SERVER_BIN']
  if (named !== undefined && named !== '') {
    const program = await programAt(named)
    if (program !== undefined) return program
    // Falling back to another one would hide that the caller's choice is not what is measured.
    throw new Error(`NATS_SERVER_BIN is set to ${named}, which does not run as a NATS server`)
  }
  for (const place of [...foldersOfPath(), SYSTEM_FOLDER, folder]) {
    const path = join(place, PROGRAM)
    if (!(await isExecutable(path))) continue
    const program = await programAt(path)
    if (program !== undefined) return program
  }
  return undefined
}

async function programAt(path: string): Promise<NatsServerProgram | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 })
    const version = /nats-server: v(\S+)/.exec(stdout)?.[1]
    return version === undefined ? undefined : { path, version }
  } catch {
    return undefined
  }
}
