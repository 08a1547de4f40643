import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DeclarationFiles } from '../api/declaration-files.ts'
import type { DeclarationFile } from '../api/declaration-file.ts'

/** A package as its users import it. */
export interface PublishedPackage {
  readonly folder: string
  readonly name: string
  /** Import paths and the sources behind them. */
  readonly entries: readonly { readonly path: string; readonly file: string }[]
}

/** A name with its declaration. */
export interface Named {
  readonly name: string
  readonly file: DeclarationFile
}

/** What people use first comes first. `create-tidemark` is a command only. */
const ORDER = [
  'tidemark',
  'store',
  'processor',
  'jobs',
  'messaging',
  'engine-sqlite',
  'engine-postgres',
  'lease-redis',
  'cosmos',
  'gateway',
  'messaging-amqp',
  'messaging-admin',
  'nestjs',
  'otel',
  'contracts',
  'testing',
]

export class PublishedApi {
  readonly packages: readonly PublishedPackage[]
  readonly files: DeclarationFiles

  constructor(root: string, folders: readonly string[] = ORDER) {
    this.packages = folders.map((folder) => readPackage(join(root, 'packages', folder)))
    const missing = readdirSync(join(root, 'packages')).filter(
      (folder) => ![...folders, 'create-tidemark'].includes(folder),
    )
    if (missing.length > 0) {
      throw new Error(`add ${missing.join(', ')} to ORDER in scripts/reference/read-entries.ts`)
    }
    const entries = this.packages.flatMap((one) => one.entries)
    this.files = new DeclarationFiles(new Map(entries.map(({ path, file }) => [path, file])))
  }

  /** What a package exports for others than its own packages, once each: by its main entry, by name, then what other entries add. */
  exportsOf({ name: packageName, entries }: PublishedPackage, only?: '.'): readonly Named[] {
    const found = new Map<string, Named>()
    for (const { path, file } of entries) {
      if (path.endsWith('/internal') || (only === '.' && path !== packageName)) continue
      for (const name of [...this.files.file(file).exports.keys()].toSorted()) {
        const named = this.find(name, this.files.file(file))
        if (named !== undefined) found.set(idOf(named), named)
      }
    }
    return [...found.values()]
  }

  /** The declaration of a name as a file of the packages knows it; undefined for names of others. */
  find(name: string, { path }: DeclarationFile): Named | undefined {
    const origin = this.files.follow({ kind: 'file', file: path, name })
    if (origin.kind === 'module') return undefined
    const file = this.files.file(origin.file)
    return file.declarations.has(origin.name) ? { name: origin.name, file } : undefined
  }
}

/** Whether a package declares it, rather than exporting it again. */
export function declares({ folder }: PublishedPackage, { file }: Named): boolean {
  return file.path.startsWith(`${folder}/`)
}

export function idOf({ name, file }: Named): string {
  return `${file.path}#${name}`
}

function readPackage(folder: string): PublishedPackage {
  const { name, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  }
  const entries = Object.entries(exports).flatMap(([entry, target]) => {
    const source = typeof target === 'object' ? target['@tidemark/source'] : undefined
    return source === undefined
      ? []
      : [{ path: `${name}${entry.slice(1)}`, file: join(folder, source) }]
  })
  return { folder, name, entries }
}
