import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { glob, mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Unpacks our packages as npm would publish them, beside links to what they depend on. */
export async function installPacked(
  root: string,
  { folder, companions }: { readonly folder: string; readonly companions: readonly string[] },
): Promise<void> {
  const modules = join(folder, 'node_modules')
  const manifests: string[] = []
  for await (const path of glob('packages/*/package.json', { cwd: root })) manifests.push(path)
  const workspaces = manifests.map((manifest) => `--workspace=${dirname(manifest)}`)
  const args = ['pack', ...workspaces, '--ignore-scripts', '--pack-destination', folder]
  await run('npm', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  for (const manifest of manifests) {
    const { name, version, dependencies, peerDependencies } = JSON.parse(
      await readFile(join(root, manifest), 'utf8'),
    ) as Manifest
    const target = join(modules, name)
    await mkdir(target, { recursive: true })
    const tarball = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`
    await run('tar', ['xzf', join(folder, tarball), '-C', target, '--strip-components=1'])
    const own = join(root, dirname(manifest), 'node_modules')
    for (const needed of Object.keys({ ...dependencies, ...peerDependencies })) {
      if (existsSync(join(own, needed)))
        await link(join(own, needed), join(target, 'node_modules', needed))
      else if (!needed.includes('tidemark')) await linkShared(root, modules, needed)
    }
  }
  for (const name of companions) await linkShared(root, modules, name)
}

async function linkShared(root: string, modules: string, name: string): Promise<void> {
  const source = join(root, 'node_modules', name)
  if (existsSync(source)) await link(source, join(modules, name))
}

async function link(source: string, target: string): Promise<void> {
  if (existsSync(target)) return
  await mkdir(dirname(target), { recursive: true })
  await symlink(source, target)
}
