import { posix } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { withoutFences } from '../broken-links.ts'

/** What the root's package.json says for all packages. */
export interface RootManifest {
  readonly version: string
  readonly license: string
  readonly bugs: string
  readonly repository: { readonly type: string; readonly url: string }
  readonly engines: { readonly node: string }
}

export interface PublishedManifest {
  readonly name: string
  readonly keywords?: readonly string[]
  readonly description?: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}

/** What package.json of `packages/<folder>` does not say as it should, one line each. */
export function manifestProblems(
  manifest: PublishedManifest,
  { folder, root, address }: { folder: string; root: RootManifest; address: string },
): string[] {
  const directory = `packages/${folder}`
  const wanted: Readonly<Record<string, unknown>> = {
    version: root.version,
    license: root.license,
    homepage: `${address}/tree/main/${directory}#readme`,
    bugs: root.bugs,
    repository: { ...root.repository, directory },
    engines: root.engines,
    type: 'module',
    sideEffects: false,
    publishConfig: { access: 'public', provenance: true },
    private: undefined,
  }
  const problems = Object.entries(wanted)
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field], value))
    .map(([field, value]) => `has ${field} ${show(manifest[field])} instead of ${show(value)}`)
  if (!manifest.description) problems.push('has no description')
  if (!manifest.keywords?.includes('tidemark')) problems.push('has no keyword tidemark')
  for (const script of RUN_BY_INSTALL.filter((name) => manifest.scripts?.[name] !== undefined)) {
    problems.push(`has the script ${script}, which npm would run on the machine of a user`)
  }
  return [...problems, ...rangeProblems(manifest, root.version)]
}

const RUN_BY_INSTALL = ['preinstall', 'install', 'postinstall']

const DEPENDENCIES = [
  'dependencies',
  'peerDependencies',
  'optionalDependencies',
  'devDependencies',
] as const
const OWN = /^(?:tidemark|create-tidemark|@tidemark\/.*)$/
/** Of a registry, not any, and no other name or place. */
const VERSIONS = /^[\^~]?\d+\.\d+\.\d+\S*(?: \|\| [\^~]?\d+\.\d+\.\d+\S*)*$/

function rangeProblems(manifest: PublishedManifest, version: string): string[] {
  return DEPENDENCIES.flatMap((field) => {
    const ranges = (manifest[field] ?? {}) as Readonly<Record<string, string>>
    return Object.entries(ranges)
      .filter(([name, range]) => (OWN.test(name) ? range !== version : !VERSIONS.test(range)))
      .map(([name, range]) => `has ${name} ${show(range)} in ${field}`)
  })
}

const LINK = /\]\((?<markdown>[^)\s]+)|(?:src|srcset|href)="(?<html>[^"]+)"/g

/** What README.md lacks for someone who meets it at the registry, where paths of the repository lead nowhere. */
export function readmeProblems(
  readme: string,
  { name, address }: { name: string; address: string },
): string[] {
  const problems: string[] = []
  if (!readme.startsWith(`# ${name}\n`))
    problems.push('has a README that does not begin with its name')
  if (!/^npm (?:install|create) /m.test(readme)) {
    problems.push('has a README that does not say how to install it')
  }
  if (!readme.includes(`](${address}/blob/main/docs/`)) {
    problems.push('has a README without a link to the documentation')
  }
  const links = [...withoutFences(readme).matchAll(LINK)]
    .map(({ groups }) => groups?.['markdown'] ?? groups?.['html'] ?? '')
    .filter((link) => !/^(?:https:|#)/.test(link))
  return [...problems, ...links.map((link) => `has a README with the relative link ${link}`)]
}

/** Source maps whose sources are not published with them, and references to maps that are not there. */
export function mapProblems(files: readonly string[], read: (file: string) => string): string[] {
  const has = (from: string, path: string): boolean =>
    files.includes(posix.join(posix.dirname(from), path))
  return files.flatMap((file) => {
    if (file.endsWith('.map')) {
      const { sources, sourcesContent } = JSON.parse(read(file)) as SourceMap
      return sources
        .filter((source, n) => typeof sourcesContent?.[n] !== 'string' && !has(file, source))
        .map((source) => `publishes ${file} without its source ${source}`)
    }
    if (!/\.(?:[cm]?js|d\.[cm]?ts)$/.test(file)) return []
    const [, map] = /^\/\/# sourceMappingURL=(?!data:)(\S+)\s*$/m.exec(read(file)) ?? []
    return map === undefined || has(file, map) ? [] : [`publishes ${file} without its map ${map}`]
  })
}

interface SourceMap {
  readonly sources: readonly string[]
  readonly sourcesContent?: readonly (string | null)[]
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
