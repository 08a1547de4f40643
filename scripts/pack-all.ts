import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A package as `npm publish` would send it. */
export interface Tarball {
  readonly name: string
  readonly version: string
  /** Under `packages/`. */
  readonly folder: string
  readonly path: string
  /** Paths inside the package, sorted. */
  readonly files: readonly string[]
  readonly packedBytes: number
  readonly unpackedBytes: number
  /** Of the file, as the registry and lock files write it. */
  readonly integrity: string
}

/** Packs all packages, into a folder. They must have been built. */
export async function packAll(root: string, destination: string): Promise<readonly Tarball[]> {
  const folders = readdirSync(join(root, 'packages'))
    .filter((folder) => existsSync(join(root, 'packages', folder, 'package.json')))
    .toSorted()
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  const workspaces = folders.map((folder) => `--workspace=packages/${folder}`)
  const { stdout } = await run('npm', [...args, ...workspaces], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  const packed = packedPackages(JSON.parse(stdout))
  return folders.map((folder) => {
    const own = packed.find(({ name }) => name === nameOf(join(root, 'packages', folder)))
    if (own === undefined) throw new Error(`npm pack made nothing of packages/${folder}`)
    return {
      name: own.name,
      version: own.version,
      folder,
      path: join(destination, own.filename),
      files: own.files.map((file) => file.path).toSorted(),
      packedBytes: own.size,
      unpackedBytes: own.unpackedSize,
      integrity: own.integrity,
    }
  })
}

interface PackedPackage {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
  readonly size: number
  readonly unpackedSize: number
  readonly integrity: string
}

/** npm 11 answers with an array, npm 12 with an object by package name. */
function packedPackages(answer: unknown): readonly PackedPackage[] {
  return Object.values(answer as Record<string, PackedPackage>)
}

function nameOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackedPackage
  return manifest.name
}
