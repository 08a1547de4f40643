import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { flag, readArguments, text, UsageError } from './command-line/read-arguments.ts'
import { packAll, type Tarball } from './pack-all.ts'
import { packProblems, unusedProblems } from './pack-check.ts'
import { removeBuilt, strayProblems } from './release/built-anew.ts'
import { readPacked, writePacked } from './release/packed.ts'
import { defaultDistTag, publishAll, publishOrder, type Publication } from './release/publish.ts'
import { outputOf, runProgram, type Run } from './run-program.ts'
import { kilobytes } from './release/size-limits.ts'
import {
  claimProblems,
  commitOf,
  standingProblems,
  tagProblems,
  versionOf,
} from './release/standing-problems.ts'
import { checkSignatures, writeBills } from './release/supply-chain.ts'
import { ROOT } from './repository.ts'

const USAGE = `usage: npm run release -- [--dry-run] [--packed] [--dist-tag NAME]

Checks, builds, packs and publishes all packages at the version that they have. The commit must have the version's tag.

  --dry-run        ends before anything is published, and needs no tag
  --packed         publishes what a dry run left in .release/, and runs nothing that others wrote
  --dist-tag NAME  default: latest, or next for a pre-release

Tarballs and lists of what is in them are in .release/. docs/releasing.md tells the rest.
Exit codes: 0 released, or ready; 1 refused or failed; 2 wrong arguments.`

/** What keeps it from being a release, or a way to go on. */
interface Checked {
  readonly problems: readonly string[]
  /** What a dry run could not check. */
  readonly unchecked: readonly string[]
}

async function checkSupply(root: string, { run, isDryRun }: Mode): Promise<Checked> {
  const signatures = await checkSignatures(root, run)
  switch (signatures.kind) {
    case 'verified':
      return { problems: [], unchecked: [] }
    case 'wrong':
      return {
        problems: [`not signed as they should be: ${signatures.packages.join(', ')}`],
        unchecked: [],
      }
    case 'unknown': {
      const line = `npm audit signatures cannot be done from here: ${signatures.reason}`
      return isDryRun ? { problems: [], unchecked: [line] } : { problems: [line], unchecked: [] }
    }
  }
}

interface Mode {
  readonly run: Run
  readonly isDryRun: boolean
  /** Takes what is in the folder, instead of making it. */
  readonly isPacked: boolean
}

interface Prepared extends Checked {
  readonly publications: readonly Publication[]
}

/** What may be published, of a folder. */
async function prepare(root: string, folder: string, mode: Mode): Promise<Prepared> {
  const commit = (await commitOf('HEAD', { root, run: mode.run })) ?? ''
  if (mode.isPacked) {
    const { unchecked, publications } = readPacked(folder, commit)
    return { problems: mode.isDryRun ? [] : unchecked, unchecked, publications }
  }
  const supply = await checkSupply(root, mode)
  if (supply.problems.length > 0) return { ...supply, publications: [] }
  const { problems, publications } = await packages(root, { run: mode.run, folder })
  if (problems.length === 0)
    writePacked(folder, { commit, unchecked: supply.unchecked, publications })
  return { ...supply, problems, publications }
}

/** Builds and packs into a folder, checks what came of it, and puts it in order. */
async function packages(
  root: string,
  { run, folder }: { readonly run: Run; readonly folder: string },
): Promise<{
  readonly problems: readonly string[]
  readonly publications: readonly Publication[]
}> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  removeBuilt(root)
  await outputOf(run, 'npm', ['run', 'build'], { cwd: root })
  const tarballs = await packAll(root, folder)
  // Elsewhere: what is installed below this tree also finds the packages of this tree.
  await using work = await mkdtempDisposable(join(tmpdir(), 'tidemark-release-'))
  const problems = [
    ...(await strayProblems(root, { tarballs, run })),
    ...(await packProblems(root, { tarballs, folder: work.path })),
    ...(await unusedProblems(root)),
  ]
  await writeBills(root, { folder, run })
  const publications = tarballs.map((tarball) => ({ ...tarball, needs: needsOf(root, tarball) }))
  return { problems, publications: publishOrder(publications) }
}

function needsOf(root: string, { folder }: Tarball): readonly string[] {
  const file = join(root, 'packages', folder, 'package.json')
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly dependencies?: object
    readonly peerDependencies?: object
  }
  return Object.keys({ ...dependencies, ...peerDependencies })
}

function listed(publications: readonly Publication[], distTag: string): readonly string[] {
  const width = Math.max(
    ...publications.map(({ name, version }) => name.length + version.length + 1),
  )
  return publications.map(({ name, version, packedBytes, unpackedBytes, files }, n) =>
    [
      String(n + 1).padStart(3),
      `${name}@${version}`.padEnd(width),
      `${kilobytes(packedBytes).padStart(7)} packed`,
      `${kilobytes(unpackedBytes).padStart(8)} unpacked`,
      `${String(files.length).padStart(4)} files`,
      distTag,
    ].join('  '),
  )
}

/** Returns whether it is done, or ready to be. */
export async function release(
  root: string,
  { distTag: asked, log, ...mode }: ReleaseOptions,
): Promise<boolean> {
  const { run, isDryRun } = mode
  const version = versionOf(root)
  const distTag = asked ?? defaultDistTag(version)
  const refuse = (problems: readonly string[]): boolean => {
    for (const problem of problems) log(problem)
    log(
      `release: ${version} is refused, for ${problems.length === 1 ? 'one reason' : `${problems.length} reasons`}`,
    )
    return false
  }
  const standing = [
    ...(await standingProblems(root, run)),
    ...(await tagProblems(root, { version, run, isNeeded: !isDryRun })),
  ]
  if (standing.length > 0) return refuse(standing)
  const unclaimed = isDryRun ? [] : await claimProblems(root, run)
  if (unclaimed.length > 0) return refuse(unclaimed)
  const prepared = await prepare(root, join(root, '.release'), mode)
  const { problems, unchecked, publications } = prepared
  if (problems.length > 0) return refuse(problems)

  for (const line of [...unchecked, ...listed(publications, distTag)]) log(line)
  const bytes = publications.reduce((sum, { packedBytes }) => sum + packedBytes, 0)
  const what = `${publications.length} packages, ${kilobytes(bytes)}, as ${distTag}, tag v${version}`
  if (isDryRun) {
    const left = unchecked.length === 0 ? '' : `; ${unchecked.length} check left out`
    log(`release: ${version} is ready, ${what}${left}`)
    return true
  }
  await publishAll(publications, { root, distTag, run, log })
  log(`release: ${version} is published, ${what}`)
  return true
}

interface ReleaseOptions extends Mode {
  readonly distTag: string | undefined
  readonly log: (line: string) => void
}

const OPTIONS = { 'dry-run': flag(), packed: flag(), 'dist-tag': text() }

/** Without `--`, npm keeps an option to itself: what should be tried would be done. */
function refuseMisplaced(): void {
  for (const name of Object.keys(OPTIONS)) {
    if (process.env[`npm_config_${name.replace('-', '_')}`] === undefined) continue
    throw new UsageError(`--${name} stands before "--": npm run release -- --${name}`)
  }
}

if (import.meta.main) {
  const { values } = readArguments(USAGE, OPTIONS, { check: refuseMisplaced })
  try {
    const isDone = await release(ROOT, {
      isDryRun: values['dry-run'],
      isPacked: values.packed,
      distTag: values['dist-tag'],
      run: runProgram,
      log: (line) => console.log(line),
    })
    if (!isDone) process.exitCode = 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.log('release: failed')
    process.exitCode = 1
  }
}
