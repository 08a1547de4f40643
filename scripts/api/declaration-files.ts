import { existsSync } from 'node:fs'
import { readDeclarationFile, type DeclarationFile, type Origin } from './declaration-file.ts'

/** Files that are read once each, and the way from a name to its declaration. */
export class DeclarationFiles {
  readonly #files = new Map<string, DeclarationFile>()
  readonly #modules: ReadonlyMap<string, string>

  /** `modules`: the files of packages by their import paths; names of other packages are not followed. */
  constructor(modules: ReadonlyMap<string, string> = new Map()) {
    this.#modules = modules
  }

  file(path: string): DeclarationFile {
    const known = this.#files.get(path)
    if (known !== undefined) return known
    if (!existsSync(path)) throw new Error(`${path} is not there: run \`npm run build\` first`)
    const file = readDeclarationFile(path)
    this.#files.set(path, file)
    return file
  }

  /** From a name in a file to where it is declared, through re-exports and imports. */
  follow(start: Origin): Origin {
    let origin = start
    for (let hops = 0; hops < 50; hops += 1) {
      if (origin.kind === 'module') {
        const file = this.#modules.get(origin.module)
        if (file === undefined) return origin
        origin = { kind: 'file', file, name: origin.name }
      }
      const file = this.file(origin.file)
      const next: Origin | undefined =
        file.exports.get(origin.name) ?? file.imports.get(origin.name)
      if (file.declarations.has(origin.name) || next === undefined) return origin
      origin = next
    }
    return origin
  }
}
