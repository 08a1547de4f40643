import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, Visitor, type Comment, type Program, type Statement } from 'oxc-parser'

/** A name in another file of the package (`file`), or in another package (`module`). */
export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly name: string }
  | { readonly kind: 'module'; readonly module: string; readonly name: string }

export interface Declaration {
  /** As a value: a class with its constructor. */
  readonly whole: Described
  /** What is left for who has only the type: a class without its constructor. */
  readonly asType: Described
  /** It has a comment, or is an interface whose members have. */
  readonly isExplained: boolean
  readonly statement: Statement
}

interface Described {
  /** Without comments, and without members that are marked `@internal`. */
  readonly text: string
  /** Every identifier that occurs in it. */
  readonly identifiers: ReadonlySet<string>
}

interface Span {
  readonly start: number
  readonly end: number
}

export interface DeclarationFile {
  readonly path: string
  /** Its text with spaces instead of comments, so that positions stay. */
  readonly text: string
  /** The comment that the file begins with, or ''. */
  readonly heading: string
  /** By local name; overloads and merged declarations are several. */
  readonly declarations: ReadonlyMap<string, readonly Declaration[]>
  readonly imports: ReadonlyMap<string, Origin>
  /** By exported name. Own declarations are not repeated here unless they are exported under a name. */
  readonly exports: ReadonlyMap<string, Origin>
  /** The comment right before a position, without the marks of a comment; empty when there is none. */
  commentBefore(position: number): string
  /** What is exported as a type only. */
  readonly typesOnly: ReadonlySet<string>
}

/** Reads one `.d.ts` that `tsc` wrote, or a source. */
export function readDeclarationFile(path: string): DeclarationFile {
  const text = readFileSync(path, 'utf8')
  const { program, module, comments, errors } = parseSync(path, text)
  const error = errors[0]
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`)
  const withoutComments = blank(text, comments)
  const commentBefore = (position: number): string => precedingComment(position, text, comments)

  const declarations = new Map<string, Declaration[]>()
  for (const statement of program.body) {
    const { hidden, constructors, isExplained } = membersOf(program, statement, commentBefore)
    const described = (left: readonly Span[]): Described => ({
      text: blank(withoutComments, left).slice(statement.start, statement.end),
      identifiers: identifiersOf(program, statement, left),
    })
    const declaration: Declaration = {
      whole: described(hidden),
      asType: described([...hidden, ...constructors]),
      isExplained: isExplained || commentBefore(statement.start) !== '',
      statement,
    }
    for (const name of declaredNames(path, statement)) {
      declarations.set(name, [...(declarations.get(name) ?? []), declaration])
    }
  }

  const imports = new Map<string, Origin>()
  for (const { entries, moduleRequest } of module.staticImports) {
    for (const { importName, localName } of entries) {
      imports.set(localName.value, origin(path, moduleRequest.value, importName.name ?? '*'))
    }
  }

  const exports = new Map<string, Origin>()
  const typesOnly = new Set<string>()
  for (const { entries } of module.staticExports) {
    for (const { exportName, importName, isType, localName, moduleRequest } of entries) {
      if (exportName.name === null) throw new Error(`${path} exports without a name`)
      if (isType) typesOnly.add(exportName.name)
      if (moduleRequest !== null) {
        const from = origin(path, moduleRequest.value, importName.name ?? '*')
        exports.set(exportName.name, from)
      } else if (localName.name !== null) {
        exports.set(exportName.name, { kind: 'file', file: path, name: localName.name })
      }
    }
  }
  const first = comments[0]
  return {
    path,
    text: withoutComments,
    heading: first !== undefined && text.slice(0, first.start).trim() === '' ? first.value : '',
    declarations,
    imports,
    exports,
    typesOnly,
    commentBefore,
  }
}

/** The lines, without their stars, of the comment that ends right before a position. */
export function precedingComment(
  position: number,
  text: string,
  comments: readonly Comment[],
): string {
  const comment = comments.findLast(
    ({ end }) => end <= position && text.slice(end, position).trim() === '',
  )
  return (comment?.value ?? '')
    .replace(/^\*/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim()
}

function origin(path: string, specifier: string, name: string): Origin {
  if (!specifier.startsWith('.')) return { kind: 'module', module: specifier, name }
  const ending = isDeclaration(path) ? '.d.ts' : '.ts'
  const file = join(dirname(path), specifier.replace(/\.(ts|js)$/, ending))
  return { kind: 'file', file, name }
}

function isDeclaration(path: string): boolean {
  return path.endsWith('.d.ts')
}

/** What is in the spans becomes spaces, so that positions stay. */
function blank(text: string, spans: readonly Span[]): string {
  let result = text
  for (const { start, end } of spans) {
    const spaces = text.slice(start, end).replace(/[^\n]/g, ' ')
    result = result.slice(0, start) + spaces + result.slice(end)
  }
  return result
}

function declaredNames(path: string, statement: Statement): string[] {
  const node =
    statement.type === 'ExportNamedDeclaration' && statement.declaration !== null
      ? statement.declaration
      : statement
  switch (node.type) {
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []))
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
      return node.id === null ? [] : [node.id.name]
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [node.id.name]
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'EmptyStatement':
      return []
    default:
      if (!isDeclaration(path)) return []
      // A silent gap would be a part of the API that nobody reviews.
      throw new Error(`${path} holds a ${node.type}, which the API report does not know`)
  }
}

interface Members {
  /** Marked `@internal`. */
  readonly hidden: readonly Span[]
  readonly constructors: readonly Span[]
  /** A member of an interface has a comment. */
  readonly isExplained: boolean
}

function membersOf(
  program: Program,
  statement: Statement,
  commentBefore: DeclarationFile['commentBefore'],
): Members {
  const hidden: Span[] = []
  const constructors: Span[] = []
  let isExplained = false
  const judge = (member: Span, isConstructor: boolean): void => {
    if (/@internal\b/.test(commentBefore(member.start))) hidden.push(member)
    else if (isConstructor) constructors.push(member)
  }
  new Visitor({
    ClassBody: ({ body }) => {
      for (const member of body) {
        judge(member, member.type === 'MethodDefinition' && member.kind === 'constructor')
      }
    },
    TSInterfaceBody: ({ body }) => {
      for (const member of body) judge(member, false)
      isExplained ||= body.some((member) => commentBefore(member.start) !== '')
    },
  }).visit({ ...program, body: [statement] })
  return { hidden, constructors, isExplained }
}

function identifiersOf(
  program: Program,
  statement: Statement,
  except: readonly Span[],
): Set<string> {
  const names = new Set<string>()
  new Visitor({
    Identifier: ({ name, start }) => {
      if (!except.some((span) => span.start <= start && start < span.end)) names.add(name)
    },
  }).visit({ ...program, body: [statement] })
  return names
}
