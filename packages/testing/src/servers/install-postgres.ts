import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  addedPackages,
  installDebianPackage,
  simulatedInstall,
  unpackDebianPackages,
  writeWrapper,
  type Report,
} from './debian-packages.ts'

const CLUSTER_SETTINGS = '/etc/postgresql-common/createcluster.d'

/** Installs Debian's server without the cluster that Debian would make and start with it. */
export async function installPostgresAsRoot(report: Report): Promise<void> {
  const settings = join(CLUSTER_SETTINGS, 'tidemark-tests.conf')
  await mkdir(CLUSTER_SETTINGS, { recursive: true })
  await writeFile(settings, 'create_main_cluster = false\n')
  try {
    await installDebianPackage('postgresql', report)
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
  report: Report,
): Promise<void> {
  await unpackDebianPackages({
    // A simulated installation needs no root and names what is missing here, in this release's names.
    packages: missingPackages(await simulatedInstall('postgresql')),
    folder: join(cacheFolder, 'postgres'),
    report,
    finish: writeWrappers,
  })
}

/** Scripts and data for clusters that Debian runs, and LLVM (130 MB, only for queries compiled to machine code). */
const NOT_NEEDED =
  /^(postgresql|postgresql-common|postgresql-client-common|ssl-cert|openssl|ucf|debconf|locales|libc-l10n|libllvm\d+|libz3-.*|perl|perl-.*|lib.*-perl|netbase|adduser|lsb-base|sensible-utils|readline-common)$/

/** @internal What to download, from the output of `apt-get -s install postgresql`. */
export function missingPackages(simulation: string): string[] {
  return addedPackages(simulation).filter((name) => !NOT_NEEDED.test(name))
}

async function writeWrappers(target: string): Promise<void> {
  const versions = join(target, 'root', 'usr', 'lib', 'postgresql')
  const major = (await readdir(versions)).map(Number).toSorted((a, b) => b - a)[0]
  const programs = join(versions, String(major), 'bin')
  // Without LLVM the library that would load it must not be found either: PostgreSQL then does without.
  const libraries = join(versions, String(major), 'lib')
  await rm(join(libraries, 'llvmjit.so'), { force: true })
  await rm(join(libraries, 'bitcode'), { recursive: true, force: true })
  for (const program of await readdir(programs)) {
    await writeWrapper({
      path: join(target, 'bin', program),
      folder: target,
      program: `lib/postgresql/${major}/bin/${program}`,
    })
  }
}
