import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { breakingChanges, publicPart } from './breaking-changes.ts'

const LINE_OF_RELEASES = /^\d+\.\d+$/

/** Keeps the public entries of `reports` as those of the version's line of releases, such as `api/0.1/`. */
export function freezeApi(root: string, reports: ReadonlyMap<string, string>): void {
  const api = join(root, 'api')
  for (const line of frozenLines(api)) rmSync(join(api, line), { recursive: true })
  const folder = join(api, lineOfReleases(root))
  mkdirSync(folder, { recursive: true })
  for (const [file, report] of reports) writeFileSync(join(folder, file), publicPart(report))
}

/**
 * What `reports` break of what is frozen, unless a changeset is pending that makes a release which may break: a minor one
 * before 1.0, a major one since.
 */
export function brokenPromises(root: string, reports: ReadonlyMap<string, string>): string[] {
  const api = join(root, 'api')
  const line = lineOfReleases(root)
  if (frozenLines(api).join() !== line) {
    return [`api/${line}/ has to be what is frozen, and nothing else: run \`npm run api:freeze\``]
  }
  const allowing = line.startsWith('0.') ? ['minor', 'major'] : ['major']
  if (pendingBumps(root).some((bump) => allowing.includes(bump))) return []
  const found = readdirSync(join(api, line)).flatMap((file) =>
    breakingChanges(readFileSync(join(api, line, file), 'utf8'), reports.get(file) ?? ''),
  )
  return found.map(
    ({ entry, name, kind }) =>
      `${entry}: ${name} is ${kind} since ${line}, which needs a changeset that says ${allowing[0]}`,
  )
}

function lineOfReleases(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string
  }
  return version.split('.', 2).join('.')
}

function frozenLines(api: string): string[] {
  return existsSync(api) ? readdirSync(api).filter((name) => LINE_OF_RELEASES.test(name)) : []
}

/** Of the files in `.changeset/`: each begins with lines such as `'@tidemark/store': minor` between two of dashes. */
function pendingBumps(root: string): string[] {
  const folder = join(root, '.changeset')
  const files = existsSync(folder) ? readdirSync(folder) : []
  return files
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .flatMap((file) => {
      const head = readFileSync(join(folder, file), 'utf8').split(/^---$/m)[1] ?? ''
      return [...head.matchAll(/^["'].+["']: (\w+)$/gm)].map(([, bump = '']) => bump)
    })
}
