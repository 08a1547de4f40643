import type { DocumentBody, Stored } from '@tidemark/contracts'

/**
 * How the documents of one key become one value: what is remembered of each (`part`), and how parts are added up.
 * Everything must be JSON, and every function pure: the same document always has the same part.
 */
export interface Fold<
  T extends DocumentBody = DocumentBody,
  Part = unknown,
  State = unknown,
  Value = unknown,
> {
  /** Tells folds apart: a view that was built with another one must be rebuilt. */
  readonly kind: string
  /** Kept until the document leaves the key; undefined or null: the document counts for nothing here. */
  part(document: Stored<T>): Part | null | undefined
  /** Of no documents. */
  readonly empty: State
  /** In any order. */
  add(state: State, part: Part): State
  /**
   * Takes back what `add` did with an equal part. Without it the view also keeps all parts by key, and reads those of a
   * key again when one leaves.
   */
  remove?(state: State, part: Part): State
  /** Undefined: the view's document has no such property. */
  value(state: State): Value | undefined
}

/** What documents are ranked by. Numbers come before texts; texts are compared by code points. */
export type Score = number | string

/** Keeps the first documents of an order, such as the best ten. */
export interface RankedFold<T extends DocumentBody = DocumentBody, Value = unknown> {
  readonly kind: string
  /** How many of them the value is made of. */
  readonly limit: number
  readonly first: 'lowest' | 'highest'
  /** Undefined or null: the document is not ranked. */
  score(document: Stored<T>): Score | null | undefined
  /** What the value has of the document. It is stored twice, so that little is better. */
  select(document: Stored<T>, score: Score): unknown
  /** @param ranked in order; among equals by partition key value and id. At least one */
  value(ranked: readonly unknown[]): Value | undefined
}

/** What a view keeps for a key: one value, or a ranked list. */
export type AnyFold<T extends DocumentBody = DocumentBody> = Fold<T> | RankedFold<T>

/** One fold, whose result is the property `value`, or several by the names of their properties. */
export type Folds<T extends DocumentBody = DocumentBody> =
  | AnyFold<T>
  | { readonly [name: string]: AnyFold<T> }

/** What a fold results in. */
export type FoldValue<F> =
  F extends Fold<never, never, never, infer Value>
    ? Value
    : F extends RankedFold<never, infer Value>
      ? Value
      : never
