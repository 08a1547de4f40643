import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A package as `npm publish` would send it. */
export interface Tarball {
  readonly name: string
  /** Under `packages/`. */
  readonly folder: string
  readonly path: string
  /** Paths inside the package, sorted. */
  readonly files: readonly string[]
}

/** Packs each package once, into a folder. They must have been built. */
export async function packAll(root: string, destination: string): Promise<readonly Tarball[]> {
  const tarballs: Tarball[] = []
  for (const folder of readdirSync(join(root, 'packages')).toSorted()) {
    const path = join(root, 'packages', folder)
    if (existsSync(join(path, 'package.json'))) tarballs.push(await pack(path, folder, destination))
  }
  return tarballs
}

async function pack(cwd: string, folder: string, destination: string): Promise<Tarball> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  const { stdout } = await run('npm', args, { cwd, maxBuffer: 64 * 1024 * 1024 })
  const { name, filename, files } = packedPackage(JSON.parse(stdout))
  const paths = files.map((file) => file.path).toSorted()
  return { name, folder, path: join(destination, filename), files: paths }
}

interface PackedPackage {
  readonly name: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** npm 11 answers with an array, npm 12 with an object by package name. */
function packedPackage(answer: unknown): PackedPackage {
  const [entry] = Object.values(answer as Record<string, PackedPackage>)
  if (entry === undefined) throw new Error('npm pack names no package')
  return entry
}
