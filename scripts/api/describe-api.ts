import { format } from 'oxfmt'
import type { Declaration, DeclarationFile, Origin } from './declaration-file.ts'
import { DeclarationFiles } from './declaration-files.ts'

/** Whom an entry is for. What is internal may change in any release. */
export type Audience = 'public' | 'internal'

/** One published entry of a package: `.` or `./client`, and the declaration file that `types` names. */
export interface Entry {
  readonly name: string
  readonly file: string
}

export interface ApiReport {
  readonly text: string
  /** What has to be mended before the package is published, a line each. */
  readonly problems: readonly string[]
}

/**
 * The API of a package as text: per entry, each exported name with its declaration, then what those
 * declarations mention without being exported. It depends on nothing but the declarations.
 */
export async function describeApi(
  packageName: string,
  entries: readonly Entry[],
): Promise<ApiReport> {
  const files = new DeclarationFiles()
  const parts = [
    `# ${packageName}`,
    '# The API, written by `npm run api` from the built declarations. A change here is reviewed.',
  ]
  const problems: string[] = []
  const audiences = new Map(entries.map((entry) => [entry, audienceOf(files.file(entry.file))]))
  const internal = entries.filter((entry) => audiences.get(entry) === 'internal')
  for (const entry of entries) {
    const path = entry.name === '.' ? packageName : `${packageName}/${entry.name.slice(2)}`
    const audience = audiences.get(entry)
    if (audience === undefined) {
      problems.push(
        `${path} has no comment above its first line with @packageDocumentation and @public or @internal`,
      )
    }
    const isInternal = audience === 'internal'
    const writer = new ApiWriter(files, entry.file, isInternal ? [] : internal)
    parts.push('', isInternal ? `## ${path} (internal)` : `## ${path}`, '', await writer.write())
    if (isInternal) continue
    problems.push(
      ...writer
        .unexplained()
        .map((name) => `${path}: ${name} has no comment, and its members have none`),
    )
  }
  return { text: `${parts.join('\n').trimEnd()}\n`, problems }
}

function audienceOf({ heading, exports }: DeclarationFile): Audience | undefined {
  // The program of a thread: nobody imports it.
  if (exports.size === 0) return 'internal'
  if (!heading.includes('@packageDocumentation')) return undefined
  return (['public', 'internal'] as const).find((tag) => new RegExp(`@${tag}\\b`).test(heading))
}

class ApiWriter {
  readonly #files: DeclarationFiles
  readonly #entry: string
  /** `file#name` of what is written or queued, so that nothing is written twice. */
  readonly #known = new Set<string>()
  readonly #pending: { readonly file: string; readonly name: string }[] = []

  /** What the entries `elsewhere` export is described there, unless this entry exports it, too. */
  constructor(files: DeclarationFiles, entry: string, elsewhere: readonly Entry[]) {
    this.#files = files
    this.#entry = entry
    for (const { file } of elsewhere) {
      for (const { origin } of this.#exported(file)) {
        if (origin.kind === 'file') this.#known.add(`${origin.file}#${origin.name}`)
      }
    }
  }

  unexplained(): string[] {
    return this.#exported(this.#entry).flatMap(({ name, origin }) =>
      origin.kind === 'file' && !this.#declarations(origin).some(({ isExplained }) => isExplained)
        ? [name]
        : [],
    )
  }

  async write(): Promise<string> {
    const exported = this.#exported(this.#entry)
    for (const { origin } of exported) {
      if (origin.kind === 'file') this.#known.add(`${origin.file}#${origin.name}`)
    }
    const { typesOnly } = this.#files.file(this.#entry)
    const blocks = exported.map(({ name, origin }) =>
      this.#block(name, origin, typesOnly.has(name) ? 'asType' : 'whole'),
    )
    const hidden: { readonly name: string; readonly text: string }[] = []
    for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) {
      hidden.push({
        name: next.name,
        text: this.#block(next.name, { kind: 'file', ...next }, 'asType'),
      })
    }
    hidden.sort((a, b) => compare(a.name, b.name) || compare(a.text, b.text))
    if (hidden.length > 0) {
      blocks.push('// Not exported, but mentioned above.', ...hidden.map(({ text }) => text))
    }
    const { code, errors } = await format('api.ts', blocks.join('\n\n'), {
      printWidth: 100,
      singleQuote: true,
      semi: false,
    })
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
    return code
  }

  #exported(entry: string): { readonly name: string; readonly origin: Origin }[] {
    const names = [...this.#files.file(entry).exports.keys()].sort(compare)
    return names.map((name) => ({
      name,
      origin: this.#files.follow({ kind: 'file', file: entry, name }),
    }))
  }

  #block(exportedAs: string, origin: Origin, reach: 'whole' | 'asType'): string {
    if (origin.kind === 'module') {
      const renamed = origin.name === exportedAs ? exportedAs : `${origin.name} as ${exportedAs}`
      return `export { ${renamed} } from '${origin.module}'`
    }
    const file = this.#files.file(origin.file)
    const described = this.#declarations(origin).map((declaration) => declaration[reach])
    for (const { identifiers } of described) this.#queue(origin.file, file, identifiers)
    const text = described.map((declaration) => compact(declaration.text)).join('\n')
    return origin.name === exportedAs ? text : `// ${exportedAs} is\n${text}`
  }

  #declarations({
    file,
    name,
  }: {
    readonly file: string
    readonly name: string
  }): readonly Declaration[] {
    const declarations = this.#files.file(file).declarations.get(name)
    if (declarations === undefined) throw new Error(`${file} declares no ${name}`)
    return declarations
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
