import type { Expression } from './expression.ts'
import type { ExpressionParser } from './expression-parser.ts'
import { readOperand, type OperandContext } from './operand-parser.ts'
import type { FromClause, FromSource } from './query.ts'

const DOCUMENT: Expression = { kind: 'variable', name: 'root', slot: 0 }

/** FROM of the whole query: its first name is the container, whatever it is called. */
export function parseFrom(parser: ExpressionParser, context: OperandContext): FromClause {
  const { cursor, names } = context
  if (cursor.isSymbol('(')) return parseDerived(parser, context)
  const alias = cursor.isName() && cursor.isKeyword('IN', 1) ? cursor.take().text : undefined
  if (alias !== undefined) cursor.expectKeyword('IN')
  const container = cursor.expectName('a container name')
  const steps = readSteps(parser, context)
  if (alias === undefined && steps.length === 0) {
    const documentName = readSourceAlias(context) ?? container
    names.bindDocument(documentName)
    return { documentName, sources: readJoins(parser, context) }
  }
  const from: Expression = steps.length === 0 ? DOCUMENT : { kind: 'path', root: DOCUMENT, steps }
  const name = alias ?? readSourceAlias(context) ?? lastProperty(steps) ?? container
  const each = alias === undefined ? 'value' : 'items'
  const source: FromSource = { alias: name, slot: names.bind(name), each, from }
  return { documentName: undefined, sources: [source, ...readJoins(parser, context)] }
}

/** `(SELECT … FROM c …) [[AS] x]` instead of the container. */
function parseDerived(parser: ExpressionParser, context: OperandContext): FromClause {
  const { cursor, names } = context
  cursor.expectSymbol('(')
  const { from, where, selection, distinct } = cursor.nested(context.readDerived)
  cursor.expectSymbol(')')
  // Without a name nothing can speak of it: no name is empty.
  const alias = readSourceAlias(context) ?? ''
  if (distinct !== undefined) {
    names.bindDocument(alias)
    return { documentName: alias, sources: readJoins(parser, context), derived: distinct }
  }
  const value: Expression =
    selection.kind === 'value' ? selection.value : { kind: 'object', properties: selection.items }
  const source: FromSource = { alias, slot: names.bind(alias), each: 'value', from: value }
  const sources = [...from.sources, source, ...readJoins(parser, context)]
  return { documentName: undefined, sources, where }
}

/** FROM of a subquery: over values of the row around it. */
export function parseSubqueryFrom(parser: ExpressionParser, context: OperandContext): FromClause {
  const first = readSource(parser, context)
  return { documentName: undefined, sources: [first, ...readJoins(parser, context)] }
}

function readJoins(parser: ExpressionParser, context: OperandContext): FromSource[] {
  const joins: FromSource[] = []
  while (context.cursor.takeKeyword('JOIN')) joins.push(readSource(parser, context))
  return joins
}

/** `x IN path`, `x IN (SELECT …)`, `path [AS x]` or `(SELECT …) [[AS] x]`. */
function readSource(parser: ExpressionParser, context: OperandContext): FromSource {
  const { cursor, names } = context
  const start = cursor.peek()
  if (cursor.isName() && cursor.isKeyword('IN', 1)) {
    const alias = cursor.take().text
    cursor.expectKeyword('IN')
    const from = readCollection(parser, context)
    return { alias, slot: names.bind(alias), each: 'items', from }
  }
  const from = readCollection(parser, context)
  const alias = readSourceAlias(context) ?? impliedAlias(from)
  // Only its rows count, as in the manual's rewritten JOINs: no name is empty, so that none can mean it.
  if (alias === undefined && from.kind === 'rows') {
    return { alias: '', slot: names.bind(''), each: 'value', from }
  }
  if (alias === undefined) throw cursor.errorAt(start, 'a source needs a name: add AS and a name,')
  return { alias, slot: names.bind(alias), each: 'value', from }
}

function readCollection(parser: ExpressionParser, context: OperandContext): FromSource['from'] {
  const { cursor } = context
  if (cursor.isSymbol('(') && cursor.isKeyword('SELECT', 1)) {
    cursor.expectSymbol('(')
    const query = cursor.nested(context.readSubquery)
    cursor.expectSymbol(')')
    return { kind: 'rows', query }
  }
  return readOperand(parser, context)
}

function readSteps(parser: ExpressionParser, { cursor }: OperandContext): Expression[] {
  const steps: Expression[] = []
  for (;;) {
    if (cursor.takeSymbol('.')) {
      steps.push({ kind: 'literal', value: cursor.expectWord('a property name') })
    } else if (cursor.takeSymbol('[')) {
      steps.push(parser.expression())
      cursor.expectSymbol(']')
    } else {
      return steps
    }
  }
}

function readSourceAlias({ cursor }: OperandContext): string | undefined {
  if (cursor.takeKeyword('AS')) return cursor.expectName('an alias')
  return cursor.isName() ? cursor.take().text : undefined
}

function impliedAlias(from: FromSource['from']): string | undefined {
  if (from.kind === 'variable') return from.name
  return from.kind === 'path' ? lastProperty(from.steps) : undefined
}

function lastProperty(steps: readonly Expression[]): string | undefined {
  const last = steps.at(-1)
  return last?.kind === 'literal' && typeof last.value === 'string' ? last.value : undefined
}
