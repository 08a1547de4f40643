import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { installDebianPackage, unpackDebianPackages, writeWrapper } from './debian-packages.ts'
import { foldersOfPath, isExecutable } from './executables.ts'

const run = promisify(execFile)

export interface EnsureRedisServerOptions {
  /** Folder for packages that are unpacked without root. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being installed, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * The path of a `redis-server` executable: `REDIS_SERVER_BIN`, then the one on PATH, then what an earlier
 * call unpacked; installed from Debian's packages when the machine has none.
 * Rejects with one clear line when that is impossible; it never answers with something that was not tried.
 */
export async function ensureRedisServer(options: EnsureRedisServerOptions = {}): Promise<string> {
  const cacheFolder = cacheFolderOf(options)
  const found = await findBinary(cacheFolder)
  if (found !== undefined) return found
  const report = options.onProgress ?? (() => {})
  try {
    if (process.getuid?.() === 0) await installDebianPackage('redis-server', report)
    else await unpack(join(cacheFolder, 'redis'), report)
  } catch (cause) {
    throw new Error(`${NO_REDIS} Installing it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const installed = await findBinary(cacheFolder)
  if (installed === undefined) throw new Error(`${NO_REDIS} The installed package has none.`)
  return installed
}

const NO_REDIS = 'No redis-server: set REDIS_SERVER_BIN to one, or put it on PATH.'
const DEBIAN_PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1']

async function findBinary(cacheFolder: string): Promise<string | undefined> {
  const named = process.env['REDIS_SERVER_BIN']
  if (named !== undefined && named !== '') {
    if (await works(named)) return named
    // Falling back to another server would hide that the caller's choice is not what is tested.
    throw new Error(`REDIS_SERVER_BIN is set to ${named}, which does not run as a Redis server`)
  }
  for (const folder of foldersOfPath()) {
    const path = join(folder, 'redis-server')
    if ((await isExecutable(path)) && (await works(path))) return path
  }
  const unpacked = join(cacheFolder, 'redis', 'redis-server')
  return (await works(unpacked)) ? unpacked : undefined
}

async function works(path: string): Promise<boolean> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 })
    return /\b(redis|valkey) server\b/i.test(stdout)
  } catch {
    return false
  }
}

function unpack(folder: string, report: (line: string) => void): Promise<void> {
  return unpackDebianPackages({
    packages: DEBIAN_PACKAGES,
    folder,
    report,
    finish: (made) =>
      writeWrapper({
        path: join(made, 'redis-server'),
        folder: made,
        program: 'bin/redis-server',
      }),
  })
}
