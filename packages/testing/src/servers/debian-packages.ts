import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

const MAX_OUTPUT = 16 * 1024 * 1024
const MAX_ATTEMPTS = 60
const ATTEMPT_MS = 2_000

/** Told what is done, one line each. */
export type Report = (line: string) => void

/** Installs one package of Debian's with what it cannot do without. */
export async function installDebianPackage(name: string, report: Report): Promise<void> {
  report(`installing ${name} with apt-get`)
  await aptGet(['update'], 180_000)
  await aptGet(['install', '-y', '--no-install-recommends', name], 600_000)
}

/** Waits for another process that is at it: tests install what they need at the same time. */
async function aptGet(args: readonly string[], timeout: number): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }
  for (let attempt = 1; ; attempt++) {
    try {
      await run('apt-get', args, { env, timeout, maxBuffer: MAX_OUTPUT })
      return
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !String(error).includes('Could not get lock')) throw error
      await sleep(ATTEMPT_MS)
    }
  }
}

/** What `apt-get` would do to install a package, as it says it in English. Needs no root. */
export async function simulatedInstall(name: string): Promise<string> {
  const { stdout } = await run('apt-get', ['-s', 'install', '--no-install-recommends', name], {
    env: { ...process.env, LC_ALL: 'C' },
    timeout: 60_000,
    maxBuffer: MAX_OUTPUT,
  })
  return stdout
}

/** What a simulated installation would add. A package that is there in another version is left alone. */
export function addedPackages(simulation: string): string[] {
  // A version in square brackets is the installed one: only an upgrade, which is not needed.
  const lines = [...simulation.matchAll(/^Inst (\S+)( \[)?/gm)]
  return lines.flatMap(([, name, installed]) => (name && installed === undefined ? [name] : []))
}

export interface UnpackedPackages {
  readonly packages: readonly string[]
  /** Where the packages' files are to be, below `root`. What is there goes when the new is complete. */
  readonly folder: string
  /** Makes of `root` what is called: scripts, in a folder that is renamed afterwards. */
  readonly finish: (folder: string) => Promise<void>
  readonly report: Report
}

/** Downloads packages of Debian's and unpacks them, without root and without their scripts. */
export async function unpackDebianPackages(options: UnpackedPackages): Promise<void> {
  const { packages, folder, finish, report } = options
  report(`unpacking ${packages.length} packages of Debian's into ${folder}`)
  // Built aside and renamed, so that two commands at once, or one that was killed, leave nothing half-made.
  const target = `${folder}-${process.pid}`
  await mkdir(target, { recursive: true })
  try {
    await run('apt-get', ['download', ...packages], {
      cwd: target,
      timeout: 300_000,
      maxBuffer: MAX_OUTPUT,
    })
    for (const file of await readdir(target)) {
      if (!file.endsWith('.deb')) continue
      await run('dpkg', ['-x', file, 'root'], { cwd: target })
      await rm(join(target, file))
    }
    await finish(target)
    await rm(folder, { recursive: true, force: true })
    await rename(target, folder)
  } finally {
    await rm(target, { recursive: true, force: true })
  }
}

export interface Wrapper {
  /** The script's file, somewhere in `folder`. */
  readonly path: string
  /** That has `root`. */
  readonly folder: string
  /** Below `root/usr`. */
  readonly program: string
}

/** Writes a script that runs an unpacked program with the libraries that were unpacked beside it. */
export async function writeWrapper({ path, folder, program }: Wrapper): Promise<void> {
  const root = join(relative(dirname(path), folder) || '.', 'root', 'usr')
  await mkdir(dirname(path), { recursive: true })
  // `exec` keeps the process id, so that signals sent to the child reach the program itself.
  await writeFile(
    path,
    `#!/bin/sh
root="$(cd "$(dirname "$0")/${root}" && pwd)"
for folder in "$root"/lib "$root"/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH="$folder\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$root/${program}" "$@"
`,
  )
  await chmod(path, 0o755)
}
