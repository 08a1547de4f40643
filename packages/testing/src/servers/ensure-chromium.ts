import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import {
  addedPackages,
  installDebianPackage,
  simulatedInstall,
  unpackDebianPackages,
  writeWrapper,
} from './debian-packages.ts'
import { foldersOfPath, isExecutable } from './executables.ts'

const run = promisify(execFile)

export interface EnsureChromiumOptions {
  /** Folder for packages that are unpacked without root. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being installed, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * The path of a Chromium: `CHROMIUM_BIN`, then the one on PATH, then what an earlier call unpacked; installed from
 * Debian's packages when the machine has none. Rejects with one clear line when that is impossible; it never answers
 * with something that was not tried.
 */
export async function ensureChromium(options: EnsureChromiumOptions = {}): Promise<string> {
  const folder = join(cacheFolderOf(options), PROGRAM)
  const found = await findBinary(folder)
  if (found !== undefined) return found
  const report = options.onProgress ?? (() => {})
  try {
    if (process.getuid?.() === 0) await installDebianPackage(PROGRAM, report)
    else {
      await unpackDebianPackages({
        packages: addedPackages(await simulatedInstall(PROGRAM)),
        folder,
        report,
        finish: (made) =>
          writeWrapper({
            path: join(made, PROGRAM),
            folder: made,
            program: `lib/${PROGRAM}/${PROGRAM}`,
          }),
      })
    }
  } catch (cause) {
    throw new Error(`${NO_CHROMIUM} Installing it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const installed = await findBinary(folder)
  if (installed === undefined) throw new Error(`${NO_CHROMIUM} The installed package has none.`)
  return installed
}

const PROGRAM = 'chromium'
const NO_CHROMIUM = 'No Chromium: set CHROMIUM_BIN to one, or put it on PATH.'

async function findBinary(unpacked: string): Promise<string | undefined> {
  const named = process.env['CHROMIUM_BIN']
  if (named !== undefined && named !== '') {
    if (await works(named)) return named
    // Falling back to another one would hide that the caller's choice is not what is tested.
    throw new Error(`CHROMIUM_BIN is set to ${named}, which does not run as Chromium`)
  }
  for (const folder of [...foldersOfPath(), unpacked]) {
    const path = join(folder, PROGRAM)
    if ((await isExecutable(path)) && (await works(path))) return path
  }
  return undefined
}

async function works(path: string): Promise<boolean> {
  try {
    const { stdout } = await run(path, ['--version', '--no-sandbox'], { timeout: 60_000 })
    return /\bchrom(e|ium)\b/i.test(stdout)
  } catch {
    return false
  }
}
