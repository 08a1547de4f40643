import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RefusedError } from './refused-error.ts'
import { OWN_VERSION, TEMPLATES, type Template, type TemplateName } from './templates.ts'

const TEMPLATES_FOLDER = fileURLToPath(new URL('../templates', import.meta.url))
/** What may be in the folder already. */
const HARMLESS: ReadonlySet<string> = new Set(['.git'])

export interface Project {
  readonly folder: string
  readonly name: string
  readonly template: TemplateName
  /** Of this package, and so of all of ours. */
  readonly version: string
}

/**
 * Writes the project, into a folder that is made if it is missing. Overwrites nothing.
 *
 * @throws RefusedError when the folder is not empty, or no folder
 */
export async function writeProject({ folder, name, template, version }: Project): Promise<void> {
  await assertEmpty(folder)
  await makeFolder(folder)
  const chosen = TEMPLATES[template]
  const manifest = manifestOf(chosen, { name, version })
  await writeNew(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  for (const part of ['common', ...(chosen.parts ?? []), template]) {
    const from = join(TEMPLATES_FOLDER, part)
    for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const text = (await readFile(path, 'utf8')).replaceAll('{{name}}', name)
      await writeNew(join(folder, targetPath(path.slice(from.length))), text)
    }
  }
}

/** npm publishes no `.gitignore`, so these have another first letter in the package. */
function targetPath(path: string): string {
  return join(dirname(path), basename(path).replace(/^_/, '.'))
}

async function assertEmpty(folder: string): Promise<void> {
  let entries: readonly string[]
  try {
    entries = await readdir(folder)
  } catch (error) {
    const code: unknown = Reflect.get(Object(error), 'code')
    if (code === 'ENOENT') return
    if (code === 'ENOTDIR') throw new RefusedError(`${folder} is a file: choose another folder`)
    throw error
  }
  const [found] = entries.filter((entry) => !HARMLESS.has(entry))
  if (found !== undefined) {
    throw new RefusedError(`${folder} is not empty (${found}): choose a new folder`)
  }
}

/** With those above it. Node's own way does not end where a system refuses a name as if its parent were missing, as /proc does. */
async function makeFolder(folder: string): Promise<void> {
  if (await isThere(folder)) return
  await makeFolder(dirname(folder))
  await mkdir(folder)
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function writeNew(path: string, text: string): Promise<void> {
  await makeFolder(dirname(path))
  await writeFile(path, text, { flag: 'wx' })
}

function manifestOf(
  { dependencies, devDependencies }: Template,
  { name, version }: Pick<Project, 'name' | 'version'>,
): object {
  const versions = (wanted: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(wanted)
        .map(([needed, range]) => [needed, range === OWN_VERSION ? `^${version}` : range] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: '^22.18 || >=24' },
    scripts: { start: 'node src/main.ts', test: 'node --test', check: 'tsc' },
    dependencies: versions({ tidemark: OWN_VERSION, ...dependencies }),
    devDependencies: versions({
      '@types/node': '^24.10.0',
      typescript: '^7.0.0',
      ...devDependencies,
    }),
  }
}
