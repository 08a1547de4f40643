import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { aptErrorLine } from './apt-error-line.ts'
import { cacheFolderOf } from './cache-folder.ts'
import { addedPackages, simulatedInstall, unpackDebianPackages } from './debian-packages.ts'

const run = promisify(execFile)

export interface EnsureProtonOptions {
  /** Folder for packages that are unpacked. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being unpacked, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/** A Python that can import `proton`, in this environment. */
export interface ProtonPython {
  readonly path: string
  readonly env: Readonly<Record<string, string>>
  /** As in `0.37.0`. */
  readonly version: string
}

/**
 * Qpid Proton for Python: `PROTON_PYTHON`, then what the machine's `/usr/bin/python3` has, then what an earlier call unpacked;
 * else Debian's packages are downloaded and unpacked, without root and without installing anything. Rejects with one clear line
 * when that is impossible.
 */
export async function ensureProton(options: EnsureProtonOptions = {}): Promise<ProtonPython> {
  const folder = join(cacheFolderOf(options), 'proton')
  const found = await findPython(folder)
  if (found !== undefined) return found
  const { onProgress: report = () => {} } = options
  try {
    await unpackDebianPackages({
      packages: addedPackages(await simulatedInstall(PACKAGE)),
      folder,
      report,
      finish: () => Promise.resolve(),
    })
  } catch (cause) {
    throw new Error(`${NO_PROTON} Unpacking it failed: ${aptErrorLine(cause)}`, { cause })
  }
  const unpacked = await findPython(folder)
  if (unpacked === undefined) throw new Error(`${NO_PROTON} The unpacked package cannot be used.`)
  return unpacked
}

const PACKAGE = 'python3-qpid-proton'
const NO_PROTON = `No Qpid Proton for Python: install Debian's ${PACKAGE}, or set PROTON_PYTHON to a Python that can import proton.`
/** Debian's own: its packages are made for no other. */
const SYSTEM_PYTHON = '/usr/bin/python3'

async function findPython(folder: string): Promise<ProtonPython | undefined> {
  const named = process.env['PROTON_PYTHON']
  if (named !== undefined && named !== '') {
    const python = await pythonAt(named, {})
    if (python !== undefined) return python
    // Falling back to another one would hide that the caller's choice is not what is tested.
    throw new Error(`PROTON_PYTHON is set to ${named}, which cannot import proton`)
  }
  return (
    (await pythonAt(SYSTEM_PYTHON, {})) ??
    (await pythonAt(SYSTEM_PYTHON, await unpackedEnvironment(folder)))
  )
}

async function pythonAt(
  path: string,
  env: ProtonPython['env'] | undefined,
): Promise<ProtonPython | undefined> {
  if (env === undefined) return undefined
  const program = 'import cproton, proton; print(".".join(map(str, proton.VERSION)))'
  try {
    const { stdout } = await run(path, ['-c', program], {
      env: { ...process.env, ...env },
      timeout: 60_000,
    })
    return { path, env, version: stdout.trim() }
  } catch {
    return undefined
  }
}

/** Undefined when nothing was unpacked there. */
async function unpackedEnvironment(folder: string): Promise<ProtonPython['env'] | undefined> {
  const root = join(folder, 'root', 'usr')
  const modules = join(root, 'lib', 'python3', 'dist-packages')
  try {
    await access(join(modules, 'proton'))
    const libraries = (await readdir(join(root, 'lib'))).filter((name) => /-linux-gnu/.test(name))
    return {
      PYTHONPATH: modules,
      LD_LIBRARY_PATH: libraries.map((name) => join(root, 'lib', name)).join(':'),
    }
  } catch {
    return undefined
  }
}
