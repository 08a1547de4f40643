/** A TypeScript example of a page. */
export interface Snippet {
  readonly page: string
  /** Where its code begins, from 1. */
  readonly line: number
  readonly code: string
  /** A whole program (```` ```ts run ````): nothing is added to it, and it is run. */
  readonly isProgram: boolean
  /** What the program prints: the block of text (```` ```text ````) that follows in its section. */
  readonly output: string | undefined
}

/** All of a page, in its order. */
export function readSnippets(page: string, markdown: string): Snippet[] {
  return [...markdown.matchAll(/^```ts( run)?\n(.*?)^```$/gms)].map((match) => {
    const [block, run, code = ''] = match
    const after = markdown.slice(match.index + block.length)
    const [section = ''] = after.split(/^(?:#|```ts)/m, 1)
    const output = /^```text\n(.*?)^```$/ms.exec(section)?.[1]
    const line = markdown.slice(0, match.index).split('\n').length + 1
    return {
      page,
      line,
      code,
      isProgram: run !== undefined,
      output: run === undefined ? undefined : output,
    }
  })
}

/** Imports, on one line, of what the code uses of the entries and does not declare or import itself. */
export function importsFor(code: string, exports: ReadonlyMap<string, readonly string[]>): string {
  const seen = new Set<string>()
  const lines = [...exports].flatMap(([entry, names]) => {
    const missing = names.filter((name) => !seen.has(name) && usesFreely(code, name))
    for (const name of missing) seen.add(name)
    return missing.length === 0 ? [] : [`import { ${missing.join(', ')} } from '${entry}'; `]
  })
  return lines.join('')
}

function usesFreely(code: string, name: string): boolean {
  const isImported = new RegExp(`^import [^;]*?\\b${name}\\b[^;]*? from `, 'm').test(code)
  const isDeclared = new RegExp(`\\b(const|let|class|function) ${name}\\b`).test(code)
  return !isImported && !isDeclared && new RegExp(`(?<![.\\w])${name}\\b`).test(code)
}
