import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const MAX_OUTPUT = 16 * 1024 * 1024
const CLUSTER_SETTINGS = '/etc/postgresql-common/createcluster.d'

/** Installs Debian's server without the cluster that Debian would make and start with it. */
export async function installPostgresAsRoot(report: (line: string) => void): Promise<void> {
  report('installing postgresql with apt-get')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const settings = join(CLUSTER_SETTINGS, 'tidemark-tests.conf')
  await mkdir(CLUSTER_SETTINGS, { recursive: true })
  await writeFile(settings, 'create_main_cluster = false\n')
  try {
    await run('apt-get', ['update'], { env, timeout: 180_000, maxBuffer: MAX_OUTPUT })
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'postgresql'], {
      env,
      timeout: 600_000,
      maxBuffer: MAX_OUTPUT,
    })
  } finally {
    // Only this installation is meant, not what the machine's owner installs later.
    await rm(settings, { force: true })
  }
}

/** The folder of the programs that `unpackPostgresWithoutRoot` makes. */
export function unpackedPostgresFolder(cacheFolder: string): string {
  return join(cacheFolder, 'postgres', 'bin')
}

/** Unpacks Debian's server and the libraries that this machine lacks below `cacheFolder`. */
export async function unpackPostgresWithoutRoot(
  cacheFolder: string,
  report: (line: string) => void,
): Promise<void> {
  report(`unpacking postgresql into ${join(cacheFolder, 'postgres')}`)
  // Built aside and renamed, so that two commands at once, or one that was killed, leave nothing half-made.
  const target = join(cacheFolder, `postgres-${process.pid}`)
  await mkdir(target, { recursive: true })
  try {
    await run('apt-get', ['download', ...(await packagesToUnpack())], {
      cwd: target,
      timeout: 300_000,
      maxBuffer: MAX_OUTPUT,
    })
    for (const file of await readdir(target)) {
      if (!file.endsWith('.deb')) continue
      await run('dpkg', ['-x', file, 'root'], { cwd: target })
      await rm(join(target, file))
    }
    await writeWrappers(target)
    await rm(join(cacheFolder, 'postgres'), { recursive: true, force: true })
    await rename(target, join(cacheFolder, 'postgres'))
  } finally {
    await rm(target, { recursive: true, force: true })
  }
}

/** Scripts and data for clusters that Debian runs, and LLVM (130 MB, only for queries compiled to machine code). */
const NOT_NEEDED =
  /^(postgresql|postgresql-common|postgresql-client-common|ssl-cert|openssl|ucf|debconf|locales|libc-l10n|libllvm\d+|libz3-.*|perl|perl-.*|lib.*-perl|netbase|adduser|lsb-base|sensible-utils|readline-common)$/

async function packagesToUnpack(): Promise<string[]> {
  // A simulated installation needs no root and names what is missing here, in this release's names.
  const { stdout } = await run(
    'apt-get',
    ['-s', 'install', '--no-install-recommends', 'postgresql'],
    {
      env: { ...process.env, LC_ALL: 'C' },
      timeout: 60_000,
      maxBuffer: MAX_OUTPUT,
    },
  )
  return missingPackages(stdout)
}

/** @internal What to download, from the output of `apt-get -s install postgresql`. */
export function missingPackages(simulation: string): string[] {
  const lines = [...simulation.matchAll(/^Inst (\S+)( \[)?/gm)]
  // A version in square brackets is the installed one: only an upgrade, which is not needed.
  const missing = lines.filter(([, , installed]) => installed === undefined)
  return missing.flatMap(([, name]) => (name && !NOT_NEEDED.test(name) ? [name] : []))
}

async function writeWrappers(target: string): Promise<void> {
  const versions = join(target, 'root', 'usr', 'lib', 'postgresql')
  const major = (await readdir(versions)).map(Number).toSorted((a, b) => b - a)[0]
  const programs = join(versions, String(major), 'bin')
  // Without LLVM the library that would load it must not be found either: PostgreSQL then does without.
  const libraries = join(versions, String(major), 'lib')
  await rm(join(libraries, 'llvmjit.so'), { force: true })
  await rm(join(libraries, 'bitcode'), { recursive: true, force: true })
  await mkdir(join(target, 'bin'))
  for (const program of await readdir(programs)) {
    const wrapper = join(target, 'bin', program)
    await writeFile(wrapper, wrapperScript(`lib/postgresql/${major}/bin/${program}`))
    await chmod(wrapper, 0o755)
  }
}

/** `exec` keeps the process id, so that signals sent to the child reach the server itself. */
function wrapperScript(program: string): string {
  return `#!/bin/sh
root="$(cd "$(dirname "$0")/.." && pwd)/root/usr"
for folder in "$root"/lib "$root"/lib/*-linux-gnu*; do
  LD_LIBRARY_PATH="$folder\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
done
export LD_LIBRARY_PATH
exec "$root/${program}" "$@"
`
}
