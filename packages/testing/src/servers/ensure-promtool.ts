import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { unpackDebianPackages, writeWrapper } from './debian-packages.ts'
import { foldersOfPath, isExecutable } from './executables.ts'

const run = promisify(execFile)

export interface EnsurePromtoolOptions {
  /** Folder for packages that are unpacked. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being unpacked, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * The path of Prometheus' `promtool`, which checks metrics and rules: `PROMTOOL_BIN`, then the one on PATH, then what an earlier
 * call unpacked; else Debian's package `prometheus` (19 MB) is downloaded and unpacked. It is never installed, because an
 * installed one also starts a server. Rejects with one clear line when there is none.
 */
export async function ensurePromtool(options: EnsurePromtoolOptions = {}): Promise<string> {
  const folder = join(cacheFolderOf(options), 'prometheus')
  const found = await findProgram(folder)
  if (found !== undefined) return found
  const { onProgress: report = () => {} } = options
  try {
    await unpackDebianPackages({
      packages: ['prometheus'],
      folder,
      report,
      finish: (made) =>
        writeWrapper({ path: join(made, PROGRAM), folder: made, program: `bin/${PROGRAM}` }),
    })
  } catch (cause) {
    throw new Error(`${NO_PROMTOOL} Unpacking it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const unpacked = await findProgram(folder)
  if (unpacked === undefined) throw new Error(`${NO_PROMTOOL} The unpacked package has none.`)
  return unpacked
}

const PROGRAM = 'promtool'
const NO_PROMTOOL = 'No promtool: set PROMTOOL_BIN to one, or put it on PATH.'

async function findProgram(folder: string): Promise<string | undefined> {
  const named = process.env['PROMTOOL_BIN']
  if (named !== undefined && named !== '') {
    if (await works(named)) return named
    // Falling back to another one would hide that the caller's choice does not run.
    throw new Error(`PROMTOOL_BIN is set to ${named}, which does not run as promtool`)
  }
  for (const place of [...foldersOfPath(), folder]) {
    const path = join(place, PROGRAM)
    if ((await isExecutable(path)) && (await works(path))) return path
  }
  return undefined
}

async function works(path: string): Promise<boolean> {
  try {
    const { stdout, stderr } = await run(path, ['--version'], { timeout: 10_000 })
    return /promtool, version/.test(stdout + stderr)
  } catch {
    return false
  }
}
