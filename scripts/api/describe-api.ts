import { format } from 'prettier'
import type { DeclarationFile, Origin } from './declaration-file.ts'
import { DeclarationFiles } from './declaration-files.ts'

/** One published entry of a package: `.` or `./client`, and the declaration file that `types` names. */
export interface Entry {
  readonly name: string
  readonly file: string
}

/**
 * The public API of a package as text: per entry, each exported name with its declaration, then what those
 * declarations mention without being exported. It depends on nothing but the declarations.
 */
export async function describeApi(packageName: string, entries: readonly Entry[]): Promise<string> {
  const parts = [
    `# ${packageName}`,
    '# The public API, written by `npm run api` from the built declarations. A change here is reviewed.',
  ]
  for (const entry of entries) {
    const path = entry.name === '.' ? packageName : `${packageName}/${entry.name.slice(2)}`
    parts.push('', `## ${path}`, '', await new ApiWriter(entry.file).write())
  }
  return `${parts.join('\n').trimEnd()}\n`
}

class ApiWriter {
  readonly #entry: string
  readonly #files = new DeclarationFiles()
  /** `file#name` of what is written or queued, so that nothing is written twice. */
  readonly #known = new Set<string>()
  readonly #pending: { readonly file: string; readonly name: string }[] = []

  constructor(entry: string) {
    this.#entry = entry
  }

  async write(): Promise<string> {
    const exported = this.#exportedNames().map((name) => {
      const origin = this.#files.follow({ kind: 'file', file: this.#entry, name })
      if (origin.kind === 'file') this.#known.add(`${origin.file}#${origin.name}`)
      return { name, origin }
    })
    const blocks = exported.map(({ name, origin }) => this.#block(name, origin))
    const hidden: { readonly name: string; readonly text: string }[] = []
    for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
      hidden.push({
        name: next.name,
        text: this.#block(next.name, { kind: 'file', ...next }),
      })
    }
    hidden.sort((a, b) => compare(a.name, b.name) || compare(a.text, b.text))
    if (hidden.length > 0) {
      blocks.push('// Not exported, but mentioned above.', ...hidden.map(({ text }) => text))
    }
    return format(blocks.join('\n\n'), {
      parser: 'typescript',
      printWidth: 100,
      singleQuote: true,
      semi: false,
    })
  }

  #exportedNames(): string[] {
    const { exports } = this.#files.file(this.#entry)
    return [...exports.keys()].sort(compare)
  }

  #block(exportedAs: string, origin: Origin): string {
    if (origin.kind === 'module') {
      const renamed = origin.name === exportedAs ? exportedAs : `${origin.name} as ${exportedAs}`
      return `export { ${renamed} } from '${origin.module}'`
    }
    const file = this.#files.file(origin.file)
    const declarations = file.declarations.get(origin.name)
    if (declarations === undefined) throw new Error(`${origin.file} declares no ${origin.name}`)
    for (const { identifiers } of declarations) this.#queue(origin.file, file, identifiers)
    const text = declarations.map((declaration) => compact(declaration.text)).join('\n')
    return origin.name === exportedAs ? text : `// ${exportedAs} is\n${text}`
  }

  #queue(path: string, file: DeclarationFile, identifiers: ReadonlySet<string>): void {
    for (const name of identifiers) {
      const imported = file.imports.get(name)
      const local: Origin | undefined = file.declarations.has(name)
        ? { kind: 'file', file: path, name }
        : undefined
      const mentioned = local ?? imported
      if (mentioned === undefined) continue
      const origin = this.#files.follow(mentioned)
      if (origin.kind === 'module' || this.#known.has(`${origin.file}#${origin.name}`)) continue
      this.#known.add(`${origin.file}#${origin.name}`)
      this.#pending.push({ file: origin.file, name: origin.name })
    }
  }
}

function compact(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n')
}

/** By code unit: the same order on every machine. */
function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
