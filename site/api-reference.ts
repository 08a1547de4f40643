import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application, Converter, LogLevel, OptionDefaults } from 'typedoc'
import { ROOT } from '../scripts/repository.ts'

/*
 * Writes the API reference, one page for each published entry, into docs/api, which is not committed. A link of a doc
 * comment that leads nowhere, and every other warning, ends it with exit code 1.
 */

const OUT = join(ROOT, 'docs/api')

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** The sources of the entries that users can import, with the name by which they do. */
function readEntries(): ReadonlyMap<string, string> {
  const entries = globSync('packages/*/package.json', { cwd: ROOT }).flatMap((path) => {
    // Our own manifests.
    const manifest = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest
    if (manifest.private === true) return []
    return Object.entries(manifest.exports ?? {}).flatMap(([entry, targets]) => {
      const source = typeof targets === 'string' ? undefined : targets['@tidemark/source']
      if (source === undefined || entry === './internal') return []
      return [[join(ROOT, dirname(path), source), manifest.name + entry.slice(1)] as const]
    })
  })
  // What several entries export is described with the first of them. `tidemark` exports again what the other packages have.
  return new Map(entries.toSorted(([, a], [, b]) => (a < b ? -1 : 1)))
}

const entries = readEntries()
const app = await Application.bootstrapWithPlugins({
  name: 'API reference',
  entryPoints: [...entries.keys()],
  sortEntryPoints: false,
  tsconfig: fileURLToPath(new URL('tsconfig.api.json', import.meta.url)),
  // `tsc -b` has checked them.
  skipErrorChecking: true,
  excludeInternal: true,
  excludePrivate: true,
  readme: 'none',
  blockTags: [...OptionDefaults.blockTags, '@remedy'],
  validation: { invalidLink: true, notExported: false },
  treatWarningsAsErrors: true,
  logLevel: LogLevel.Warn,
  plugin: ['typedoc-plugin-markdown'],
  outputs: [{ name: 'markdown', path: OUT }],
  ...{
    router: 'module',
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    parametersFormat: 'table',
  },
})
// Entries are called as they are imported, and those that only start a thread have nothing to describe.
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const entry of project.children ?? []) {
    const file = project.files.getReflectionPath(entry)
    const name = file === undefined ? undefined : entries.get(file)
    if (name !== undefined) entry.name = name
    if ((entry.children ?? []).length === 0) project.removeReflection(entry)
  }
})

const project = await app.convert()
if (project !== undefined) {
  app.validate(project)
  await app.generateOutputs(project)
}
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
