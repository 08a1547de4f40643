import { posix } from 'node:path'
import {
  ARROWS,
  IO_MODULES,
  PROTOCOL_PACKAGES,
  TEST_PACKAGE,
  isWorkspacePackage,
} from './arrows.ts'
import type { ImportSite, SourceFile, Workspace, WorkspaceFolder } from './read-workspace.ts'

/** One line for a person: where, what, and what to do instead. */
export type Violation = string

/** What one file imports, against the arrows, the manifests and the published entries. */
export function importViolations(workspace: Workspace): Violation[] {
  const exportsOf = new Map(
    workspace.packages.map(({ manifest }) => [manifest.name, Object.keys(manifest.exports ?? {})]),
  )
  const check = new ImportCheck(exportsOf, workspace)
  return [
    ...workspace.packages.flatMap((owner) => check.files(owner, owner.files)),
    ...workspace.examples.flatMap((owner) => check.files(owner, owner.files)),
    ...check.files(undefined, workspace.looseFiles),
  ]
}

class ImportCheck {
  readonly #exportsOf: ReadonlyMap<string, readonly string[]>
  readonly #workspace: Pick<Workspace, 'root' | 'beside'>

  constructor(
    exportsOf: ReadonlyMap<string, readonly string[]>,
    workspace: Pick<Workspace, 'root' | 'beside'>,
  ) {
    this.#exportsOf = exportsOf
    this.#workspace = workspace
  }

  files(owner: WorkspaceFolder | undefined, files: readonly SourceFile[]): Violation[] {
    return files.flatMap((file) =>
      file.imports.flatMap((site) => {
        const problem = this.#problem(owner, file, site)
        return problem === undefined ? [] : [`${file.path}:${site.line} ${problem}`]
      }),
    )
  }

  #problem(
    owner: WorkspaceFolder | undefined,
    file: SourceFile,
    site: ImportSite,
  ): string | undefined {
    const { specifier } = site
    if (site.star && owner?.folder.startsWith('packages/')) {
      return `re-exports everything from '${specifier}': name what is exported`
    }
    if (specifier.startsWith('.')) return relativeProblem(owner, file, specifier)
    if (specifier.startsWith('node:')) return builtinProblem(owner, file, specifier)
    const name = packageNameOf(specifier)
    if (isWorkspacePackage(name)) return this.#workspaceProblem(owner, file, name, specifier)
    return this.#declaredProblem(owner, file, name)
  }

  #workspaceProblem(
    owner: WorkspaceFolder | undefined,
    file: SourceFile,
    name: string,
    specifier: string,
  ): string | undefined {
    const entries = this.#exportsOf.get(name)
    if (entries === undefined) return `imports '${name}', which is no package of this repository`
    if (!entries.includes(specifier === name ? '.' : `.${specifier.slice(name.length)}`)) {
      return `imports '${specifier}', which '${name}' does not publish: deep imports are not allowed`
    }
    const from = owner?.manifest.name
    if (from === name) return `imports its own package '${name}': import the file itself`
    if (from !== undefined && owner?.folder.startsWith('packages/')) {
      if (file.isTest && name === TEST_PACKAGE) return undefined
      const allowed = ARROWS.get(from) ?? []
      if (!allowed.includes(name)) {
        const may = allowed.length === 0 ? 'no other package' : allowed.join(', ')
        return `imports '${name}' against the arrows: ${from} may import ${may}`
      }
    }
    return this.#declaredProblem(owner, file, name)
  }

  #declaredProblem(
    owner: WorkspaceFolder | undefined,
    file: SourceFile,
    name: string,
  ): string | undefined {
    const { root, beside } = this.#workspace
    const manifest = owner?.manifest ?? root
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
    if (owner === undefined || file.isTest) {
      const own = beside.find(({ folder }) => file.path.startsWith(`${folder}/`))
      Object.assign(
        declared,
        root.devDependencies,
        manifest.devDependencies,
        own?.manifest.devDependencies,
      )
    }
    if (name in declared) return undefined
    const place = owner === undefined ? 'package.json' : `${owner.folder}/package.json`
    return `imports '${name}', which ${place} does not declare`
  }
}

function relativeProblem(
  owner: WorkspaceFolder | undefined,
  file: SourceFile,
  specifier: string,
): string | undefined {
  if (!/\.(ts|json)$/.test(specifier)) {
    return `imports '${specifier}': a relative import names the source file and ends in .ts`
  }
  const target = posix.join(posix.dirname(file.path), specifier)
  const home = homeOf(owner, file)
  const isOfTools = owner === undefined && target.startsWith('scripts/')
  if (!target.startsWith(`${home}/`) && !isOfTools) {
    return `imports '${specifier}', which lies outside of ${home}/: import the published package`
  }
  if (
    owner?.folder.startsWith('packages/') &&
    !file.isTest &&
    posix.basename(target) === 'index.ts'
  ) {
    return `imports '${specifier}': inside a package import the file itself, never the index`
  }
  return undefined
}

/** The folder that relative imports stay in. Tests, benches and scripts are one folder tree each, and scripts serve all. */
function homeOf(owner: WorkspaceFolder | undefined, file: SourceFile): string {
  if (owner === undefined) return file.path.split('/')[0] ?? ''
  return owner.folder.startsWith('packages/') ? `${owner.folder}/src` : owner.folder
}

function builtinProblem(
  owner: WorkspaceFolder | undefined,
  file: SourceFile,
  specifier: string,
): string | undefined {
  if (owner === undefined || !PROTOCOL_PACKAGES.includes(owner.manifest.name)) return undefined
  if (file.isTest || file.path.includes('/platform/')) return undefined
  if (!IO_MODULES.has(specifier.slice('node:'.length))) return undefined
  return `imports '${specifier}': ${owner.manifest.name} takes time, chance and I/O as arguments; put this under platform/`
}

function packageNameOf(specifier: string): string {
  const parts = specifier.split('/')
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
}
