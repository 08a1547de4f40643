import type { SqlFunction } from '../functions/sql-function.ts'
import type { Json } from '../json.ts'
import type { FromClause, Selection } from './query.ts'

/**
 * A scalar expression. Operators of one level stand in one node, however many there are, so that the
 * tree is as deep as the text has brackets, and no deeper.
 */
export type Expression =
  | LiteralExpression
  | ParameterExpression
  | VariableExpression
  | PathExpression
  | UnaryExpression
  | ChainExpression
  | LogicalExpression
  | ConditionalExpression
  | BetweenExpression
  | InExpression
  | LikeExpression
  | CallExpression
  | ArrayExpression
  | ObjectExpression
  | SubqueryExpression
  | AggregateExpression
  | ResultExpression

/** Also the literal `undefined`. */
export interface LiteralExpression {
  readonly kind: 'literal'
  readonly value: Json
}

export interface ParameterExpression {
  readonly kind: 'parameter'
  /** With its `@`. */
  readonly name: string
}

/** A name bound by FROM or JOIN. */
export interface VariableExpression {
  readonly kind: 'variable'
  readonly name: string
  /** Where the row holds its value; the document itself is 0. */
  readonly slot: number
}

/** `root.a["b"][0]`: steps are properties (strings) and places in arrays (numbers). */
export interface PathExpression {
  readonly kind: 'path'
  readonly root: Expression
  readonly steps: readonly Expression[]
}

export type UnaryOperator = '-' | '+' | '~' | 'NOT'

export interface UnaryExpression {
  readonly kind: 'unary'
  readonly operator: UnaryOperator
  readonly operand: Expression
}

export type ChainOperator =
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '||'
  | '??'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '>>>'

/** Operators from left to right: `first op1 a op2 b`. */
export interface ChainExpression {
  readonly kind: 'chain'
  readonly first: Expression
  readonly rest: readonly { readonly operator: ChainOperator; readonly operand: Expression }[]
}

export interface LogicalExpression {
  readonly kind: 'logical'
  readonly operator: 'AND' | 'OR'
  readonly operands: readonly Expression[]
}

export interface ConditionalExpression {
  readonly kind: 'conditional'
  readonly condition: Expression
  readonly whenTrue: Expression
  readonly otherwise: Expression
}

export interface BetweenExpression {
  readonly kind: 'between'
  readonly value: Expression
  readonly low: Expression
  readonly high: Expression
}

export interface InExpression {
  readonly kind: 'in'
  readonly value: Expression
  readonly list: readonly Expression[]
}

export interface LikeExpression {
  readonly kind: 'like'
  readonly value: Expression
  readonly pattern: Expression
  readonly escape: Expression | undefined
}

export interface CallExpression {
  readonly kind: 'call'
  /** In upper case. */
  readonly name: string
  readonly function: SqlFunction
  readonly operands: readonly Expression[]
}

export interface ArrayExpression {
  readonly kind: 'array'
  readonly items: readonly Expression[]
}

export interface ObjectExpression {
  readonly kind: 'object'
  readonly properties: readonly { readonly name: string; readonly value: Expression }[]
}

/** `EXISTS(…)`, `ARRAY(…)`, or a query in brackets whose one row is the value. */
export interface SubqueryExpression {
  readonly kind: 'subquery'
  readonly form: 'exists' | 'array' | 'scalar'
  readonly query: Subquery
}

/** A query over the values of the row around it. */
export interface Subquery {
  readonly from: FromClause
  readonly where: Expression | undefined
  readonly selection: Selection
  readonly distinct: boolean
  /** Aggregates over all its rows; when there are any it gives one row. */
  readonly aggregates: readonly AggregateExpression[]
}

export type AggregateName = 'COUNT' | 'SUM' | 'MIN' | 'MAX' | 'AVG' | 'MAKELIST' | 'MAKESET'

/** Only while a query is read; in a finished query a `result` stands in its place. */
export interface AggregateExpression {
  readonly kind: 'aggregate'
  readonly name: AggregateName
  readonly operand: Expression
  /** The operand as it was written. */
  readonly operandText: string
}

/** A value that was worked out per group: of a GROUP BY expression or of an aggregate. */
export interface ResultExpression {
  readonly kind: 'result'
  readonly of: 'group' | 'aggregate'
  readonly index: number
}
