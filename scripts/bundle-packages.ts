import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from './repository.ts'

// `npm run bundle`: makes the JavaScript of the packages, a few files for each, unless it is newer than its sources. `tsc -b` makes
// their declarations. Node's loader takes most of its time for the number of files (decision 0045).

interface Manifest {
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
}

/** Returns the folders of the packages that were not up to date. */
export async function bundlePackages(): Promise<readonly string[]> {
  const folders = globSync('packages/*/package.json', { cwd: ROOT }).map(dirname)
  const stale = folders.filter((folder) => !isFresh(join(ROOT, folder)))
  await Promise.all(stale.map((folder) => bundlePackage(join(ROOT, folder))))
  return stale
}

async function bundlePackage(folder: string): Promise<void> {
  // Made aside, so that nobody reads a package that is half there.
  const made = join(folder, `dist-${process.pid}`)
  try {
    await build({
      absWorkingDir: folder,
      entryPoints: entriesOf(folder).map((entry) => ({
        in: join('src', `${entry}.ts`),
        out: entry,
      })),
      outdir: made,
      bundle: true,
      splitting: true,
      chunkNames: 'chunks/[name]-[hash]',
      format: 'esm',
      platform: 'node',
      target: 'node22.18',
      packages: 'external',
      logLevel: 'warning',
    })
    // Names of chunks follow from what they hold, so another process that does the same makes the same files. Entries come last.
    const files = globSync('**/*.js', { cwd: made }).toSorted(chunksFirst)
    for (const file of files) {
      const target = join(folder, 'dist', file)
      await mkdir(dirname(target), { recursive: true })
      await rename(join(made, file), target)
    }
    for (const file of globSync('**/*.js', { cwd: join(folder, 'dist') })) {
      if (!files.includes(file)) await rm(join(folder, 'dist', file), { force: true })
    }
  } finally {
    await rm(made, { recursive: true, force: true })
  }
}

function chunksFirst(a: string, b: string): number {
  return Number(b.startsWith('chunks')) - Number(a.startsWith('chunks'))
}

/** What users and Node ask for by name, below `src` and `dist`, without what the names end in. */
function entriesOf(folder: string): readonly string[] {
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  const { bin = {}, exports = {} } = JSON.parse(text) as Manifest
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default],
  )
  return [...targets, ...Object.values(bin)].map((path) =>
    path.replace(/^\.\/dist\/(.*)\.js$/, '$1'),
  )
}

function isFresh(folder: string): boolean {
  const built = entriesOf(folder).map((entry) => join(folder, 'dist', `${entry}.js`))
  if (!built.every((file) => existsSync(file))) return false
  const builtMs = Math.min(...built.map(modifiedMs))
  return globSync(['package.json', 'src/**/*.ts'], { cwd: folder })
    .filter((file) => !/\.(test|bench|child|fixture)\.ts$/.test(file))
    .every((file) => modifiedMs(join(folder, file)) < builtMs)
}

function modifiedMs(file: string): number {
  return statSync(file).mtimeMs
}

if (import.meta.main) {
  const made = await bundlePackages()
  if (made.length > 0) console.error(`made the JavaScript of ${made.length} packages`)
}
