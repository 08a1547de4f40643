import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'

/** A regular expression, and where it stands. */
export interface Pattern {
  readonly file: string
  readonly line: number
  readonly source: string
  readonly flags: string
}

/** The suites of `testing` match only messages that they have asked for. */
const NOT_MET_BY_OTHERS = /\.(?:test|bench|child|fixture)\.tsx?$|^testing\/src\/conformance\//
/** The slowest takes a second on a quiet machine. */
const TIMEOUT_MS = 120_000

/** Every regular expression of the packages that can meet a text of others. */
export function packagePatterns(root: string): readonly Pattern[] {
  const folder = join(root, 'packages')
  return globSync('*/{src,templates}/**/*.{ts,tsx}', { cwd: folder })
    .filter((file) => !NOT_MET_BY_OTHERS.test(file.replaceAll('\\', '/')))
    .flatMap((file) => patternsOf(file, readFileSync(join(folder, file), 'utf8')))
}

/** Literals, and `new RegExp` of texts that constants of the file make up. */
export function patternsOf(file: string, text: string): readonly Pattern[] {
  const { program } = parseSync(file, text)
  const lineOf = (start: number): number => text.slice(0, start).split('\n').length
  const patterns: Pattern[] = []
  const constants = createContext({})
  new Visitor({
    VariableDeclarator({ id, init }) {
      const isText = init?.type === 'TemplateLiteral' || init?.type === 'TaggedTemplateExpression'
      if (isText && id.type === 'Identifier') {
        const value = (): unknown => runInContext(text.slice(init.start, init.end), constants)
        Object.defineProperty(constants, id.name, { get: value, configurable: true })
      }
    },
    Literal(node) {
      if (!('regex' in node)) return
      const { pattern, flags } = node.regex
      patterns.push({ file, line: lineOf(node.start), source: pattern, flags })
    },
    NewExpression({ callee, start, end }) {
      if (callee.type !== 'Identifier' || callee.name !== 'RegExp') return
      const { source, flags } = runInContext(text.slice(start, end), constants) as RegExp
      patterns.push({ file, line: lineOf(start), source, flags })
    },
  }).visit(program)
  return patterns
}

/** Those that are not proven to take linear time, whatever the text, each with where it stands. */
export async function notLinear(patterns: readonly Pattern[]): Promise<readonly string[]> {
  const found = await Promise.all(patterns.map(problemOf))
  return found.flatMap((problem) => problem ?? [])
}

async function problemOf({ file, line, source, flags }: Pattern): Promise<string | undefined> {
  const found = await check(source, flags, { checker: 'automaton', timeout: TIMEOUT_MS })
  if (found.status === 'safe') return undefined
  const takes =
    found.status === 'vulnerable' ? `takes ${found.complexity.summary} time` : 'is not proven'
  return `packages/${file}:${line}: /${source}/${flags} ${takes}`
}
