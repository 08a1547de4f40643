import type { AggregateExpression, Expression, Subquery } from './expression.ts'

/** What a row gives: itself, one value, or an object of named values. */
export type Selection =
  | { readonly kind: 'value'; readonly value: Expression }
  | { readonly kind: 'list'; readonly items: readonly SelectItem[] }

export interface SelectItem {
  readonly name: string
  readonly value: Expression
}

/** One source of FROM or JOIN; sources multiply from left to right. */
export interface FromSource {
  readonly alias: string
  readonly slot: number
  /** `items`: one row per element of the array; `value`: one row with the value, none if undefined. */
  readonly each: 'items' | 'value'
  /** What it takes its values from; a subquery gives one row per row of its own. */
  readonly from: Expression | { readonly kind: 'rows'; readonly query: Subquery }
}

export interface FromClause {
  /** True when a name stands for the document itself, in slot 0. */
  readonly namesDocument: boolean
  readonly sources: readonly FromSource[]
  /** The condition of a subquery that these sources stand for; its rows have to meet it too. */
  readonly where?: Expression | undefined
  /** `(SELECT DISTINCT …)` over the container: its rows take the place of the documents. */
  readonly derived?: Query | undefined
}

export interface OrderItem {
  readonly value: Expression
  readonly descending: boolean
}

/** A number of rows: literal or parameter. */
export interface RowCount {
  readonly value: Expression
  /** `TOP`, `OFFSET` or `LIMIT`, for messages. */
  readonly clause: string
}

/** A query as it was read and checked. Its parts are not a contract: give it to the functions here. */
export interface Query {
  readonly text: string
  /** False for `SELECT 1` and the like, which give one row whatever is stored. */
  readonly readsDocuments: boolean
  readonly from: FromClause
  readonly where: Expression | undefined
  readonly selection: Selection
  readonly distinct: boolean
  readonly groupBy: readonly Expression[]
  readonly aggregates: readonly AggregateExpression[]
  readonly orderBy: readonly OrderItem[]
  readonly top: RowCount | undefined
  readonly offset: RowCount | undefined
  readonly limit: RowCount | undefined
  /** Names with their `@`. */
  readonly parameterNames: ReadonlySet<string>
  /** How many values a row holds. */
  readonly slots: number
}
