import { NOT_SUPPORTED, refusalOf } from '../../errors/not-supported.ts'
import { findFunction, unsupportedFunction } from '../functions/function-table.ts'
import type { BadQueryError } from '../bad-query-error.ts'
import type {
  AggregateExpression,
  AggregateName,
  Expression,
  Subquery,
  SubqueryExpression,
} from './expression.ts'
import { UNSUPPORTED_CLAUSES } from './keywords.ts'
import type { ExpressionParser } from './expression-parser.ts'
import type { NameScope } from './name-scope.ts'
import type { FromClause, Query, Selection } from './query.ts'
import type { TokenCursor } from './token-cursor.ts'
import type { Token } from './token.ts'

const AGGREGATES: ReadonlyMap<string, AggregateName> = new Map([
  ['COUNT', 'COUNT'],
  ['SUM', 'SUM'],
  ['MIN', 'MIN'],
  ['MAX', 'MAX'],
  ['AVG', 'AVG'],
  ['MAKELIST', 'MAKELIST'],
  ['MAKESET', 'MAKESET'],
])

const LITERALS: ReadonlyMap<string, null | boolean | undefined> = new Map([
  ['NULL', null],
  ['TRUE', true],
  ['FALSE', false],
  ['UNDEFINED', undefined],
])

/** What a subquery in FROM gives its query: plain rows, or the query of them where each is to come once. */
export interface DerivedTable {
  readonly from: FromClause
  readonly where: Expression | undefined
  readonly selection: Selection
  readonly distinct: Query | undefined
}

/** What operands need to know of the query around them. */
export interface OperandContext {
  readonly cursor: TokenCursor
  readonly names: NameScope
  /** All parameters that were met. */
  readonly parameterNames: Set<string>
  /** Reads a query that begins with SELECT. */
  readonly readSubquery: () => Subquery
  /** The same over the container, in FROM. */
  readonly readDerived: () => DerivedTable
  /** Where aggregates may stand: in SELECT. Elsewhere the clause, for the message. */
  clause: string
}

/** Reads literals, parameters, names, calls, brackets and subqueries, with the paths that follow them. */
export function readOperand(parser: ExpressionParser, context: OperandContext): Expression {
  const root = readPrimary(parser, context)
  const steps: Expression[] = []
  for (;;) {
    if (context.cursor.takeSymbol('.')) {
      const name = context.cursor.expectWord('a property name')
      if (context.cursor.isSymbol('(')) throw unknownCall(context, `.${name}`)
      steps.push({ kind: 'literal', value: name })
    } else if (context.cursor.takeSymbol('[')) {
      steps.push(parser.expression())
      context.cursor.expectSymbol(']')
    } else {
      break
    }
  }
  return steps.length === 0 ? root : { kind: 'path', root, steps }
}

function readPrimary(parser: ExpressionParser, context: OperandContext): Expression {
  const { cursor } = context
  const token = cursor.peek()
  switch (token.kind) {
    case 'number':
    case 'string':
      cursor.take()
      return { kind: 'literal', value: token.value }
    case 'parameter':
      cursor.take()
      context.parameterNames.add(token.text)
      return { kind: 'parameter', name: token.text }
    case 'word':
      return readWord(parser, context, token)
    case 'symbol':
      return readBrackets(parser, context)
    case 'end':
      throw cursor.unexpected('an expression')
  }
}

function readWord(parser: ExpressionParser, context: OperandContext, token: Token): Expression {
  const { cursor, names } = context
  const upper = token.text.toUpperCase()
  if (cursor.isSymbol('(', 1)) return readCall(parser, context, upper)
  if (LITERALS.has(upper)) {
    cursor.take()
    return { kind: 'literal', value: LITERALS.get(upper) }
  }
  if (upper === 'UDF') {
    const name = cursor.peek(2).text
    const why = refusalOf(NOT_SUPPORTED.userDefinedFunctions)
    throw cursor.errorAt(token, `${why}; udf.${name} stands`)
  }
  if (!cursor.isName()) throw cursor.unexpected('an expression')
  const slot = names.slotOf(token.text)
  if (slot === undefined) {
    if (UNSUPPORTED_CLAUSES.has(upper)) throw cursor.unexpected('an expression')
    throw cursor.errorAt(token, `the name '${token.text}' is not bound by FROM or JOIN,`)
  }
  cursor.take()
  return { kind: 'variable', name: token.text, slot }
}

function readCall(parser: ExpressionParser, context: OperandContext, name: string): Expression {
  const { cursor } = context
  const token = cursor.take()
  cursor.expectSymbol('(')
  if (name === 'EXISTS') return readSubqueryExpression(context, 'exists')
  if (name === 'ARRAY') return readSubqueryExpression(context, 'array')
  const aggregate = AGGREGATES.get(name)
  if (aggregate !== undefined) return readAggregate(parser, context, { name: aggregate, token })
  const found = findFunction(name)
  if (found === undefined) throw unknownFunction(cursor, token)
  const operands = cursor.isSymbol(')') ? [] : parser.list()
  cursor.expectSymbol(')')
  const { minArguments: min, maxArguments: max } = found
  if (operands.length < min || operands.length > max) {
    const wanted = min === max ? String(min) : `${min} to ${max === Infinity ? 'more' : max}`
    throw cursor.errorAt(token, `${name} takes ${wanted} arguments, got ${operands.length},`)
  }
  return { kind: 'call', name, function: found, operands }
}

function unknownFunction(cursor: TokenCursor, token: Token): BadQueryError {
  const why = unsupportedFunction(token.text) ?? `there is no function ${token.text},`
  return cursor.errorAt(token, why)
}

function unknownCall({ cursor }: OperandContext, name: string): BadQueryError {
  return cursor.errorAt(cursor.peek(), `calls of ${name} are not supported,`)
}

function readSubqueryExpression(
  context: OperandContext,
  form: SubqueryExpression['form'],
): SubqueryExpression {
  const query = context.cursor.nested(context.readSubquery)
  context.cursor.expectSymbol(')')
  return { kind: 'subquery', form, query }
}

function readAggregate(
  parser: ExpressionParser,
  context: OperandContext,
  { name, token }: { name: AggregateName; token: Token },
): AggregateExpression {
  const { clause } = context
  if (clause !== 'SELECT') throw context.cursor.errorAt(token, `${name} cannot stand in ${clause},`)
  context.clause = name
  const { place } = context.cursor
  const operand = parser.expression()
  const operandText = context.cursor.textSince(place)
  context.clause = clause
  context.cursor.expectSymbol(')')
  return { kind: 'aggregate', name, operand, operandText }
}

function readBrackets(parser: ExpressionParser, context: OperandContext): Expression {
  const { cursor } = context
  if (cursor.takeSymbol('(')) {
    if (cursor.isKeyword('SELECT')) return readSubqueryExpression(context, 'scalar')
    const inner = parser.expression()
    cursor.expectSymbol(')')
    return inner
  }
  if (cursor.takeSymbol('[')) {
    const items = cursor.isSymbol(']') ? [] : parser.list()
    cursor.expectSymbol(']')
    return { kind: 'array', items }
  }
  if (cursor.takeSymbol('{')) return readObject(parser, context)
  throw cursor.unexpected('an expression')
}

function readObject(parser: ExpressionParser, { cursor }: OperandContext): Expression {
  const properties: { name: string; value: Expression }[] = []
  while (!cursor.isSymbol('}')) {
    if (properties.length > 0) cursor.expectSymbol(',')
    const token = cursor.take()
    if (token.kind !== 'word' && token.kind !== 'string') {
      throw cursor.errorAt(token, `syntax error: expected a property name, found '${token.text}'`)
    }
    const name = token.kind === 'string' ? token.value : token.text
    cursor.expectSymbol(':')
    properties.push({ name, value: parser.expression() })
  }
  cursor.expectSymbol('}')
  return { kind: 'object', properties }
}
