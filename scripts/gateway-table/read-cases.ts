import { parseSync, type CallExpression, type Expression, type Node } from 'oxc-parser'

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
type Lists = ReadonlyMap<string, number>

/**
 * The features and cases of one test file, without running it: `describe` and `test`, alone or with `.each` over a list
 * that stands in the file.
 *
 * @throws when a title or a list cannot be read, so that no case is left out unseen
 */
export function readCases(path: string, text: string): readonly Feature[] {
  const { program } = parseSync(path, text)
  const lists = new Map<string, number>()
  const features: Feature[] = []
  for (const statement of program.body) {
    if (statement.type === 'VariableDeclaration') {
      for (const { id, init } of statement.declarations) {
        const length = init && lengthOf(init, lists)
        if (id.type === 'Identifier' && typeof length === 'number') lists.set(id.name, length)
      }
    }
    if (statement.type !== 'ExpressionStatement') continue
    const call = knownCall(statement.expression, 'describe', { path, lists })
    if (call === undefined) continue
    const cases = casesIn(call.body, { path, lists }).map(({ name, count }) => ({
      name,
      count: count * call.count,
    }))
    features.push({ name: call.title, cases })
  }
  return features
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
      return list.elements.length
    case 'TSAsExpression':
      return lengthOf(list.expression, lists)
    case 'Identifier':
      return lists.get(list.name)
    default:
      return undefined
  }
}

function isNamed(node: Node, name: string): boolean {
  return node.type === 'Identifier' && node.name === name
}
