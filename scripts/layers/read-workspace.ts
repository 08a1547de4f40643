import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

export interface ImportSite {
  readonly specifier: string
  readonly line: number
  /** True for `export * from`. */
  readonly star: boolean
}

export interface SourceFile {
  /** Relative to the repository root, with forward slashes. */
  readonly path: string
  readonly isTest: boolean
  readonly imports: readonly ImportSite[]
}

export interface Manifest {
  readonly name: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export interface WorkspaceFolder {
  /** Relative to the repository root, for example `packages/store`. */
  readonly folder: string
  readonly manifest: Manifest
  /** Package names that tsconfig.json refers to, or undefined when the folder has none. */
  readonly references: readonly string[] | undefined
  readonly files: readonly SourceFile[]
}

export interface Workspace {
  readonly root: Manifest
  readonly rootReferences: readonly string[]
  readonly packages: readonly WorkspaceFolder[]
  readonly examples: readonly WorkspaceFolder[]
  /** Sources outside of packages and examples. */
  readonly looseFiles: readonly SourceFile[]
  /** What folders among them install for themselves. */
  readonly beside: readonly Pick<WorkspaceFolder, 'folder' | 'manifest'>[]
}

const LOOSE_FOLDERS = ['tests', 'bench', 'scripts']
const SKIPPED_FOLDERS = new Set(['node_modules', 'dist', '.cache'])
const TEST_FILE = /\.(test|bench|child|fixture)\.ts$/

export function readWorkspace(root: string): Workspace {
  const packages = subfolders(join(root, 'packages')).map((name) =>
    readFolder(root, `packages/${name}`, `packages/${name}/src`),
  )
  const examples = subfolders(join(root, 'examples')).map((name) =>
    readFolder(root, `examples/${name}`, `examples/${name}`),
  )
  return {
    root: readManifest(join(root, 'package.json')),
    rootReferences: readReferences(join(root, 'tsconfig.json')) ?? [],
    packages,
    examples,
    looseFiles: LOOSE_FOLDERS.flatMap((folder) => readSources(root, folder)),
    beside: globSync(`{${LOOSE_FOLDERS.join(',')}}/**/package.json`, {
      cwd: root,
      exclude: ['**/node_modules/**'],
    }).map((file) => ({
      folder: dirname(file).replaceAll('\\', '/'),
      manifest: readManifest(join(root, file)),
    })),
  }
}

function subfolders(path: string): string[] {
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(path, entry.name, 'package.json')))
    .map((entry) => entry.name)
    .sort()
}

function readFolder(root: string, folder: string, sources: string): WorkspaceFolder {
  return {
    folder,
    manifest: readManifest(join(root, folder, 'package.json')),
    references: readReferences(join(root, folder, 'tsconfig.json')),
    files: readSources(root, sources),
  }
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest
}

/** The names of the packages that a tsconfig.json refers to. */
function readReferences(path: string): string[] | undefined {
  if (!existsSync(path)) return undefined
  // Comments are allowed in a tsconfig; ours stand on lines of their own.
  const text = readFileSync(path, 'utf8').replace(/^\s*\/\/.*$/gm, '')
  const { references } = JSON.parse(text) as { references?: readonly { readonly path: string }[] }
  return (references ?? []).flatMap((reference) => {
    const manifest = join(dirname(path), reference.path, 'package.json')
    return existsSync(manifest) ? [readManifest(manifest).name] : []
  })
}

function readSources(root: string, folder: string): SourceFile[] {
  const start = join(root, folder)
  if (!existsSync(start)) return []
  return readdirSync(start, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.split('/').some((part) => SKIPPED_FOLDERS.has(part)))
    .sort()
    .map((path) => ({
      path,
      isTest: TEST_FILE.test(path),
      imports: readImports(path, readFileSync(join(root, path), 'utf8')),
    }))
}

/** Every module that the text imports: statements, re-exports, `import()` and `import('x').Type`. */
function readImports(path: string, text: string): ImportSite[] {
  const { module, program, errors } = parseSync(path, text)
  const error = errors[0]
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`)
  const found: ImportSite[] = []
  const add = (specifier: string, start: number, star = false): void => {
    found.push({ specifier, line: text.slice(0, start).split('\n').length, star })
  }
  for (const { moduleRequest, start } of module.staticImports) add(moduleRequest.value, start)
  for (const { entries, start } of module.staticExports) {
    const request = entries.find(({ moduleRequest }) => moduleRequest !== null)?.moduleRequest
    if (request) add(request.value, start, /^export\s*(type\s*)?\*/.test(text.slice(start)))
  }
  const addLiteral = (node: { type: string; value?: unknown; start: number }): void => {
    if (node.type === 'Literal' && typeof node.value === 'string') add(node.value, node.start)
  }
  new Visitor({
    ImportExpression: (node) => addLiteral(node.source),
    TSImportType: (node) => addLiteral(node.source),
  }).visit(program)
  return found
}
