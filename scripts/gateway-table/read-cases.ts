import {
  parseSync,
  type CallExpression,
  type Expression,
  type Node,
  type ParamPattern,
} from 'oxc-parser'

/** Cases of one feature: what a `describe` of the interop suite holds. */
export interface Feature {
  readonly name: string
  readonly cases: readonly NamedCase[]
}

export interface NamedCase {
  /** A table's placeholders are shown as an ellipsis. */
  readonly name: string
  /** Rows of a table; 1 for a case that stands alone. */
  readonly count: number
}

/** Lists that tables are made of, by the name of their constant. */
type Lists = Map<string, number>

/** Parameters of functions with cases of a suite that every driver runs. */
const EVERY_DRIVER: readonly unknown[] = ['CaseParts', 'OpenStore']
/** Lists of other files. */
const SHARED_LISTS = [['BOTH', 2]] as const

/**
 * The features and cases of one test file, or of one file of a suite for a driver, without running it: `describe` and `test`,
 * alone or with `.each` over a list that stands in the file. What a suite runs on a condition, no driver runs.
 *
 * @throws when a title or a list cannot be read, so that no case is left out unseen
 */
export function readCases(path: string, text: string): readonly Feature[] {
  const { program } = parseSync(path, text)
  const source = { path, lists: new Map<string, number>(SHARED_LISTS) }
  return program.body.flatMap((statement) => featuresOf(statement, source))
}

function featuresOf(statement: Node, source: Source): readonly Feature[] {
  noteLists(statement, source.lists)
  if (statement.type === 'ExportNamedDeclaration' && statement.declaration !== null) {
    const { declaration } = statement
    if (declaration.type !== 'FunctionDeclaration' || declaration.body === null) return []
    const isOfDriver = declaration.params.some((parameter) =>
      EVERY_DRIVER.includes(typeOf(parameter)),
    )
    return isOfDriver ? declaration.body.body.flatMap((inner) => featuresOf(inner, source)) : []
  }
  if (statement.type !== 'ExpressionStatement') return []
  const call = knownCall(statement.expression, 'describe', source)
  if (call === undefined) return []
  const cases = casesIn(call.body, source).map(({ name, count }) => ({
    name,
    count: count * call.count,
  }))
  return [{ name: call.title, cases }]
}

/** The name of a parameter's type. */
function typeOf(parameter: ParamPattern): string | undefined {
  const annotation = 'typeAnnotation' in parameter ? parameter.typeAnnotation : undefined
  const type = annotation?.typeAnnotation
  if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return undefined
  return type.typeName.name
}

function noteLists(statement: Node, lists: Map<string, number>): void {
  if (statement.type !== 'VariableDeclaration') return
  for (const { id, init } of statement.declarations) {
    const length = init && lengthOf(init, lists)
    if (id.type === 'Identifier' && typeof length === 'number') lists.set(id.name, length)
  }
}

interface Source {
  readonly path: string
  readonly lists: Lists
}

interface KnownCall {
  readonly title: string
  readonly count: number
  readonly body: readonly Node[]
}

function casesIn(body: readonly Node[], source: Source): NamedCase[] {
  return body.flatMap((node) => {
    noteLists(node, source.lists)
    if (node.type !== 'ExpressionStatement') return []
    const call = knownCall(node.expression, 'test', source)
    return call === undefined ? [] : [{ name: call.title, count: call.count }]
  })
}

/** `name('title', body)` or `name.each(list)('title', body)`. */
function knownCall(
  expression: Expression,
  name: 'describe' | 'test',
  { path, lists }: Source,
): KnownCall | undefined {
  if (expression.type !== 'CallExpression') return undefined
  const {
    callee,
    arguments: [title, body],
  } = expression
  const count = isNamed(callee, name) ? 1 : eachCount(callee, name, lists)
  if (count === undefined) return undefined
  if (Number.isNaN(count)) throw new Error(`${path}: a ${name}.each over a list that is not here`)
  if (title?.type !== 'Literal' || typeof title.value !== 'string') {
    throw new Error(`${path}: a ${name} whose title is no text`)
  }
  const statements =
    body?.type === 'ArrowFunctionExpression' && body.body.type === 'BlockStatement'
      ? body.body.body
      : []
  return { title: title.value.replaceAll(/%[sdj]/g, '…'), count, body: statements }
}

/** The length of the list of `name.each(list)`; NaN when it cannot be known, undefined for other calls. */
function eachCount(callee: Expression, name: string, lists: Lists): number | undefined {
  if (callee.type !== 'CallExpression') return undefined
  const { callee: each, arguments: args }: CallExpression = callee
  if (each.type !== 'MemberExpression' || each.computed) return undefined
  if (!isNamed(each.object, name) || each.property.name !== 'each') return undefined
  const [list] = args
  return list === undefined || list.type === 'SpreadElement' ? NaN : (lengthOf(list, lists) ?? NaN)
}

function lengthOf(list: Expression, lists: Lists): number | undefined {
  switch (list.type) {
    case 'ArrayExpression':
      return sum(list.elements.map((element) => elementLength(element, lists)))
    case 'ObjectExpression':
      return sum(list.properties.map((property) => elementLength(property, lists)))
    case 'CallExpression': {
      // `Object.entries(list)`, `Object.keys(list)`
      const [of] = list.arguments
      const isOfObject =
        list.callee.type === 'MemberExpression' && isNamed(list.callee.object, 'Object')
      return isOfObject && of && of.type !== 'SpreadElement' ? lengthOf(of, lists) : undefined
    }
    case 'LogicalExpression':
      return 0
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
      return lengthOf(list.expression, lists)
    case 'Identifier':
      return lists.get(list.name)
    default:
      return undefined
  }
}

function elementLength(element: Node | null, lists: Lists): number {
  if (element?.type !== 'SpreadElement') return 1
  return lengthOf(element.argument, lists) ?? Number.NaN
}

function sum(lengths: readonly number[]): number {
  return lengths.reduce((total, length) => total + length, 0)
}

function isNamed(node: Node, name: string): boolean {
  return node.type === 'Identifier' && node.name === name
}
