import type { Tarball } from '../pack-all.ts'
import { outputOf, type Run } from '../run-program.ts'

export interface Publication extends Tarball {
  /** Names of what it needs, of other places too. */
  readonly needs: readonly string[]
}

/** Each package after those that it needs, so that nobody installs one whose dependencies are not there yet. */
export function publishOrder<P extends Pick<Publication, 'name' | 'needs'>>(
  packages: readonly P[],
): readonly P[] {
  const ordered: P[] = []
  const rest = new Set(packages.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
  while (rest.size > 0) {
    const waiting = new Set([...rest].map(({ name }) => name))
    const next = [...rest].find(({ needs }) => !needs.some((name) => waiting.has(name)))
    if (next === undefined) throw new Error(`need each other: ${[...waiting].join(', ')}`)
    ordered.push(next)
    rest.delete(next)
  }
  return ordered
}

/** Where a version goes that is not named: nobody gets a pre-release without asking. */
export function defaultDistTag(version: string): string {
  return version.includes('-') ? 'next' : 'latest'
}

interface PublishOptions {
  readonly root: string
  readonly distTag: string
  readonly run: Run
  readonly log: (line: string) => void
}

/**
 * Publishes what is not at the registry yet. Rejects before the first one when another content has one of the versions.
 * What fails halfway can be repeated.
 */
export async function publishAll(
  packages: readonly Publication[],
  { root, distTag, run, log }: PublishOptions,
): Promise<void> {
  const open: Publication[] = []
  for (const item of packages) {
    const published = await publishedIntegrity(item, { root, run })
    if (published === undefined) open.push(item)
    else if (published === item.integrity) log(`is published already: ${item.name}@${item.version}`)
    else throw new Error(`${item.name}@${item.version} is published with another content`)
  }
  // Without the option, npm refuses to set `latest` back to a lower version.
  const tag = distTag === 'latest' ? [] : ['--tag', distTag]
  for (const { name, version, path } of open) {
    const args = ['publish', path, '--provenance', '--ignore-scripts', ...tag]
    await outputOf(run, 'npm', args, { cwd: root })
    log(`published ${name}@${version}`)
  }
}

async function publishedIntegrity(
  { name, version }: Publication,
  { root, run }: Pick<PublishOptions, 'root' | 'run'>,
): Promise<string | undefined> {
  const args = ['view', `${name}@${version}`, 'dist.integrity', '--prefer-online']
  const { code, stdout, stderr } = await run('npm', args, { cwd: root })
  if (code === 0) return stdout.trim() || undefined
  if (stderr.includes('E404')) return undefined
  throw new Error(`npm cannot tell whether ${name}@${version} is published:\n${stderr}`.trimEnd())
}
