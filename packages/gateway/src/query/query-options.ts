import type { Clock, FeedRange } from '@tidemark/contracts'
import type { DocumentSource } from './document-source.ts'
import type { Json } from './json.ts'
import type { QueryBudget } from './query-budget.ts'

/** One parameter as on the wire; the name with its `@`. */
export interface QueryParameter {
  readonly name: string
  readonly value: Json
}

/** A property that queries see and that is stored nowhere, as in a container's definition. */
export interface ComputedProperty {
  readonly name: string
  /** `SELECT VALUE … FROM c`. */
  readonly query: string
}

export interface RunQueryOptions {
  /** @default [] */
  readonly parameters?: readonly QueryParameter[] | undefined
  readonly source: DocumentSource
  /** Of the container. @default [] */
  readonly computedProperties?: readonly ComputedProperty[] | undefined
  /** What of the query a continuation belongs to. @default its text */
  readonly identity?: string | undefined
  /** Says what the source is of: a continuation of another scope is ERR_BAD_QUERY. @default '' */
  readonly scope?: string | undefined
  /** What the source covers of it. @default all */
  readonly range?: FeedRange | undefined
  /**
   * Of the page before, verbatim. A token of another query text, other parameters or a range that does not hold `range`
   * is ERR_BAD_QUERY.
   */
  readonly continuation?: string | undefined
  /**
   * Rows of a page at most; absent or -1 = our choice. @default 100; 1,000 for ORDER BY, DISTINCT and
   * GROUP BY, of which each page costs a reading of all documents
   */
  readonly maxItemCount?: number | undefined
  /** Documents looked at before a page ends without being full; unordered queries only. @default 10,000 */
  readonly maxExaminedPerPage?: number | undefined
  /**
   * What ORDER BY over one expression does with rows for which it is undefined. The service once left
   * them out unless the indexing policy named the path; reports from 2025 on, and its manual since 2024,
   * have them first. @default 'first'
   */
  readonly orderByUndefined?: 'leave-out' | 'first' | undefined
  /** What the page may cost, with the turns that it takes with others. @default the default limits, turns of its own */
  readonly budget?: QueryBudget | undefined
  /** For GetCurrentDateTime and the like. @default systemClock */
  readonly clock?: Clock | undefined
  readonly signal: AbortSignal
}

export interface QueryResultPage {
  /** Rows, ready for JSON. */
  readonly items: readonly unknown[]
  /** Undefined on the last page. Below 1 KiB, plus a third more than a source position over 500 characters. */
  readonly continuation?: string | undefined
  /** Documents looked at, for the request charge. */
  readonly examined: number
  /** What the page took, in steps of `QueryLimits`. */
  readonly steps: number
}
