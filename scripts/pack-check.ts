import { existsSync, readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installBeside } from './install-beside.ts'
import { costProblems, installCost } from './install-cost.ts'
import { packAll, type Tarball } from './pack-all.ts'
import {
  manifestProblems,
  mapProblems,
  readmeProblems,
  type PublishedManifest,
  type RootManifest,
} from './release/package-rules.ts'
import { sizeProblems } from './release/size-limits.ts'
import { ADDRESS, ROOT } from './repository.ts'
import { runProgram } from './run-program.ts'

/** The folder with the packages that only releases need. */
export const TOOLS = 'scripts/release'

interface PackManifest {
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** What is wrong with the list of files that `npm pack` would publish, one line each. */
export function packListProblems(manifest: PackManifest, files: readonly string[]): string[] {
  const problems: string[] = []
  for (const file of files) {
    if (!ALLOWED.test(file))
      problems.push(`publishes ${file}: only dist, lua, README and LICENSE belong there`)
    else if (UNWANTED.test(file)) problems.push(`publishes ${file}, which users have no use for`)
  }
  const targets = Object.values(manifest.exports ?? {}).flatMap((target) =>
    typeof target === 'string' ? [target] : publishedTargets(target),
  )
  const needed = [...targets, ...Object.values(manifest.bin ?? {})].map((path) => path.slice(2))
  for (const file of ['README.md', 'LICENSE', ...needed]) {
    if (!files.includes(file)) problems.push(`does not publish ${file}`)
  }
  return problems
}

const ALLOWED =
  /^((?:dashboard\/)?dist\/.*|templates\/.*|lua\/[\w-]+\.lua|package\.json|README\.md|LICENSE)$/
/** Templates have tests that users shall run. */
const UNWANTED = /^dist\/.*(\.(test|bench|child|fixture)\.|\.tsbuildinfo$)/

/** The source condition is for this repository only. */
function publishedTargets(target: Readonly<Record<string, string>>): string[] {
  return Object.entries(target)
    .filter(([condition]) => condition !== '@tidemark/source')
    .map(([, path]) => path)
}

/** Output whose source is gone: `tsc -b` never deletes, and it would be published. */
export function staleOutput(folder: string, files: readonly string[]): string[] {
  return files
    .filter((file) => /^dist\/.*\.d\.ts$/.test(file))
    .filter(
      (file) => !existsSync(join(folder, file.replace(/^dist\//, 'src/').replace(/d\.ts$/, 'ts'))),
    )
    .map((file) => `publishes ${file}, which has no source: remove dist and build again`)
}

async function packageProblems(root: string, tarball: Tarball): Promise<string[]> {
  const { folder, files } = tarball
  const path = join(root, 'packages', folder)
  const read = (file: string): string => readFileSync(join(path, file), 'utf8')
  const manifest = JSON.parse(read('package.json')) as PackManifest & PublishedManifest
  const rootManifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
  const problems = [
    ...packListProblems(manifest, files),
    ...staleOutput(path, files),
    ...manifestProblems(manifest, { folder, root: rootManifest, address: ADDRESS }),
    ...readmeProblems(read('README.md'), { name: manifest.name, address: ADDRESS }),
    ...mapProblems(files, read),
    ...sizeProblems(tarball),
  ]
  const license = join(path, 'LICENSE')
  if (
    existsSync(license) &&
    readFileSync(license, 'utf8') !== readFileSync(join(root, 'LICENSE'), 'utf8')
  ) {
    problems.push('has another LICENSE than the repository')
  }
  // The tools below need the files that are missing, and would only repeat it at length.
  if (problems.length > 0) return problems
  await installBeside(TOOLS)
  const bin = join(ROOT, TOOLS, 'node_modules/.bin')
  const found = await Promise.all([
    complaints(join(bin, 'publint'), ['run', '--strict', tarball.path]),
    complaints(join(bin, 'attw'), [tarball.path, '--profile', 'esm-only', '--no-emoji']),
  ])
  return found.flat()
}

async function complaints(command: string, args: readonly string[], cwd = ROOT): Promise<string[]> {
  const { code, stdout, stderr } = await runProgram(command, args, { cwd })
  if (code === 0) return []
  const output = `${stdout}${stderr}`.trim()
  return [`${command.split('/').at(-1)} is not content:\n${output.replace(/^/gm, '    ')}`]
}

/** What keeps the packages, as they were packed, from being published; one line each. */
export async function packProblems(
  root: string,
  { tarballs, folder }: { readonly tarballs: readonly Tarball[]; readonly folder: string },
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const tarball of tarballs) {
    for (const problem of await packageProblems(root, tarball)) {
      problems.push(`packages/${tarball.folder} ${problem}`)
    }
  }
  if (problems.length > 0) return problems
  return costProblems(await installCost(join(folder, 'installed'), tarballs))
}

/** What knip finds: files, exports and dependencies that nothing uses. */
export async function unusedProblems(root: string): Promise<readonly string[]> {
  await installBeside(TOOLS)
  return complaints(join(ROOT, TOOLS, 'node_modules/.bin/knip'), [], root)
}

if (import.meta.main) {
  await using work = await mkdtempDisposable(join(tmpdir(), 'tidemark-pack-'))
  const tarballs = await packAll(ROOT, work.path)
  const problems = [
    ...(await packProblems(ROOT, { tarballs, folder: work.path })),
    ...(await unusedProblems(ROOT)),
  ]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) {
    console.error(`pack: ${problems.length} problems`)
    process.exitCode = 1
  } else console.log(`pack: ${tarballs.length} packages are as they should be`)
}
