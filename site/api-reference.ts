import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Application, Converter, LogLevel, OptionDefaults } from 'typedoc'
import { headingAnchor } from '../scripts/broken-links.ts'
import { PublishedApi } from '../scripts/reference/read-entries.ts'
import { ROOT } from '../scripts/repository.ts'

/*
 * Writes the API reference, one page for each published entry, into docs/api, which is not committed. A link of a doc
 * comment that leads nowhere, and every other warning, ends it with exit code 1.
 */

const OUT = join(ROOT, 'docs/api')

/** The sources of the entries that users can import, with the name by which they do. */
function readEntries(): ReadonlyMap<string, string> {
  const entries = new PublishedApi(ROOT).packages
    .flatMap((one) => one.entries)
    .filter(({ path }) => !path.endsWith('/internal'))
  // What several entries export is described with the first of them. `tidemark` exports again what the other packages have.
  return new Map(
    entries.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map(({ file, path }) => [file, path]),
  )
}

/** The plugin counts some type aliases twice, and leads to a second heading (`#name-1`) where there is one. */
function correctAnchors(): void {
  const files = globSync('**/*.md', { cwd: OUT }).map((path) => join(OUT, path))
  const pages = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
  const anchors = new Map([...pages].map(([file, page]) => [file, anchorsOf(page)]))
  for (const [file, page] of pages) {
    const corrected = page.replaceAll(
      /\]\(([^)#\s]*)#([^)\s]+)-\d+\)/g,
      (link, path: string, name) => {
        const target = path === '' ? file : join(dirname(file), path)
        const anchor = String(link).slice(link.indexOf('#') + 1, -1)
        return anchors.get(target)?.has(anchor) === false ? `](${path}#${String(name)})` : link
      },
    )
    if (corrected !== page) writeFileSync(file, corrected)
  }
}

function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set([...page.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id))
  for (const [, heading = ''] of page.matchAll(/^#+ (.+)$/gm)) {
    const name = headingAnchor(heading.replaceAll(/\\(?=\W)/g, ''))
    let anchor = name
    for (let count = 1; anchors.has(anchor); count++) anchor = `${name}-${count}`
    anchors.add(anchor)
  }
  return anchors
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
  // What every error has from `Error`.
  excludeExternals: true,
  disableSources: true,
  readme: 'none',
  blockTags: [...OptionDefaults.blockTags, '@range', '@remedy', '@unit'],
  validation: { invalidLink: true, notExported: false },
  treatWarningsAsErrors: true,
  logLevel: LogLevel.Warn,
  plugin: ['typedoc-plugin-markdown'],
  outputs: [{ name: 'markdown', path: OUT }],
  // Options of the plugin, which TypeDoc's types do not know.
  ...{
    router: 'module',
    entryFileName: 'index',
    hidePageHeader: true,
    hideBreadcrumbs: true,
    parametersFormat: 'table',
  },
})
// Entries are called as they are imported, and those that only start a thread have nothing to describe.
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
  const { project } = context
  for (const entry of [...(project.children ?? [])]) {
    const source = context.getSymbolFromReflection(entry)?.declarations?.[0]?.getSourceFile()
    const name = source && entries.get(source.fileName)
    if (name !== undefined) entry.name = name
    if ((entry.children ?? []).length === 0) project.removeReflection(entry)
  }
})

const project = await app.convert()
if (project !== undefined) {
  app.validate(project)
  await app.generateOutputs(project)
  correctAnchors()
}
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1
