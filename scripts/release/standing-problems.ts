import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sectionOf } from './changelog.ts'
import { ChangesetError, pendingChanges } from './changesets.ts'
import { outputOf, type Run } from '../run-program.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly workspaces: readonly string[]
  readonly repository: { readonly url: string }
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

/** The version that the root's package.json has. */
export function versionOf(root: string): string {
  return readJson<Manifest>(join(root, 'package.json')).version
}

/** What keeps this commit from being a release, as far as files and git tell it; one line each. */
export async function standingProblems(root: string, run: Run): Promise<readonly string[]> {
  const version = versionOf(root)
  return [
    ...(await treeProblems(root, run)),
    ...changesetProblems(root),
    ...versionProblems(root, version),
    ...changelogProblems(root, version),
  ]
}

async function treeProblems(root: string, run: Run): Promise<string[]> {
  // Settings of a user may hide files that are not tracked.
  const args = ['status', '--porcelain', '--untracked-files=all']
  const status = await outputOf(run, 'git', args, { cwd: root })
  return status === '' ? [] : [`the working tree is not clean:\n${status.replace(/^/gm, '    ')}`]
}

function changesetProblems(root: string): string[] {
  try {
    const files = pendingChanges(root).map(({ file }) => file)
    if (files.length === 0) return []
    return [`changesets are pending (${files.join(', ')}): npm run version`]
  } catch (error) {
    if (error instanceof ChangesetError) return [error.message]
    throw error
  }
}

function versionProblems(root: string, version: string): string[] {
  const lock = readJson<LockFile>(join(root, 'package-lock.json'))
  const { workspaces } = readJson<Manifest>(join(root, 'package.json'))
  const folders = globSync(
    workspaces.map((folder) => `${folder}/package.json`),
    { cwd: root },
  )
    .map(dirname)
    .toSorted()
  const stated = folders.map((folder) => {
    const path = `${folder}/package.json`
    return [path, readJson<Manifest>(join(root, path)).version] as const
  })
  const locked = ['', ...folders].map((folder) => {
    return [`package-lock.json, "${folder}",`, lock.packages[folder]?.version] as const
  })
  return [...stated, ...locked]
    .filter(([, found]) => found !== version)
    .map(([place, found]) => `${place} has version ${found ?? 'none'} instead of ${version}`)
}

function changelogProblems(root: string, version: string): string[] {
  const file = join(root, 'CHANGELOG.md')
  const section = existsSync(file) ? sectionOf(readFileSync(file, 'utf8'), version) : undefined
  if (section === undefined) return [`CHANGELOG.md has no section ${version}`]
  const isEmpty = section.replaceAll(/^#.*$/gm, '').trim() === ''
  return isEmpty ? [`CHANGELOG.md has nothing under ${version}`] : []
}

/** Nothing is published without a tag: it names the commit, and who may make one decides who may release. */
export async function tagProblems(
  root: string,
  {
    version,
    run,
    isNeeded,
  }: { readonly version: string; readonly run: Run; readonly isNeeded: boolean },
): Promise<string[]> {
  const tagged = await commitOf(`refs/tags/v${version}`, { root, run })
  const head = await commitOf('HEAD', { root, run })
  if (tagged === undefined) return isNeeded ? [`the commit has no tag v${version}`] : []
  if (tagged === head) return []
  return [`the tag v${version} is at another commit, ${tagged.slice(0, 8)}`]
}

/**
 * Whoever has the names at the registry decides what users install: each must be there as a package of this repository,
 * whose address must be the one that the packages name.
 */
export async function claimProblems(root: string, run: Run): Promise<string[]> {
  const { repository } = readJson<Manifest>(join(root, 'package.json'))
  const origin = await run('git', ['remote', 'get-url', 'origin'], { cwd: root })
  const own = pathOf(repository.url)
  const problems =
    pathOf(origin.stdout) === own
      ? []
      : [`package.json names the repository ${own}, not that of the remote "origin"`]
  for (const file of globSync('packages/*/package.json', { cwd: root }).toSorted()) {
    const { name } = readJson<Manifest>(join(root, file))
    const args = ['view', name, 'repository.url', '--prefer-online']
    const { code, stdout, stderr } = await run('npm', args, { cwd: root })
    if (code === 0 && pathOf(stdout) === own) continue
    const found = code === 0 ? `of ${stdout.trim() || 'no repository'}` : stderr.trim()
    const isFree = stderr.includes('E404')
    problems.push(
      isFree
        ? `${name} is nobody's at the registry yet: docs/releasing.md says how to claim it`
        : `${name} at the registry is not known to be ours: ${found}`,
    )
  }
  return problems
}

/** Of a URL of a repository, as `host/owner/name`, however it is written. */
function pathOf(url: string): string {
  const [host = '', owner = '', name = ''] = url
    .trim()
    .replace(/^git\+/, '')
    .replace(/^[a-z]+:\/\//, '')
    .replace(/^[^/@]*@/, '')
    .split(/[/:]/)
  return `${host}/${owner}/${name.replace(/\.git$/, '')}`
}

/** Undefined when there is no such reference. */
export async function commitOf(
  reference: string,
  { root, run }: { readonly root: string; readonly run: Run },
): Promise<string | undefined> {
  const args = ['rev-parse', '--quiet', '--verify', `${reference}^{commit}`]
  const { code, stdout } = await run('git', args, { cwd: root })
  return code === 0 ? stdout.trim() : undefined
}

function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(file, 'utf8')) as Content
}
