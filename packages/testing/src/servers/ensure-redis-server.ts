import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'

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
    if (process.getuid?.() === 0) await installAsRoot(report)
    else await unpackWithoutRoot(cacheFolder, report)
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
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const folder of folders) {
    const path = join(folder, 'redis-server')
    if ((await isExecutable(path)) && (await works(path))) return path
  }
  const unpacked = wrapperPath(cacheFolder)
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

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function installAsRoot(report: (line: string) => void): Promise<void> {
  report('installing redis-server with apt-get')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update'], { env, timeout: 180_000, maxBuffer: MAX_OUTPUT })
  await run('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], {
    env,
    timeout: 300_000,
    maxBuffer: MAX_OUTPUT,
  })
}

const MAX_OUTPUT = 16 * 1024 * 1024

function wrapperPath(cacheFolder: string): string {
  return join(cacheFolder, 'redis', 'redis-server')
}

async function unpackWithoutRoot(
  cacheFolder: string,
  report: (line: string) => void,
): Promise<void> {
  report(`unpacking redis-server into ${join(cacheFolder, 'redis')}`)
  // Built aside and renamed, so that two commands at once, or one that was killed, leave nothing half-made.
  const target = join(cacheFolder, `redis-${process.pid}`)
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
    const wrapper = join(target, 'redis-server')
    await writeFile(wrapper, wrapperScript())
    await chmod(wrapper, 0o755)
    await rm(join(cacheFolder, 'redis'), { recursive: true, force: true })
    await rename(target, join(cacheFolder, 'redis'))
  } finally {
    await rm(target, { recursive: true, force: true })
  }
}

/** `exec` keeps the process id, so that signals sent to the child reach the server itself. */
function wrapperScript(): string {
  return `#!/bin/sh
root="$(cd "$(dirname "$0")" && pwd)/root/usr"
for folder in "$root"/lib "$root"/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH="$folder\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$root/bin/redis-server" "$@"
`
}
