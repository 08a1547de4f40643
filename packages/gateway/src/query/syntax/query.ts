import type { AggregateExpression, Expression, Subquery } from './expression.ts'

/** What a row gives: one value, of which `text` is what was written (`*` for the row itself), or an object of named values. */
export type Selection =
  | { readonly kind: 'value'; readonly value: Expression; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly SelectItem[] }

export interface SelectItem {
  readonly name: string
  readonly value: Expression
  /** As it was written, without its name. */
  readonly text: string
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
  /** What stands for the document itself, in slot 0; undefined when nothing does. */
  readonly documentName: string | undefined
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

/** The parts of a query as they were written, for a plan to put them together otherwise. */
export interface QueryTexts {
  readonly from: string | undefined
  readonly where: string | undefined
  readonly groupBy: readonly string[]
  /** Without their directions. */
  readonly orderBy: readonly string[]
}

/** A query with the texts that it was read from. */
export interface WrittenQuery extends Query {
  readonly texts: QueryTexts
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
