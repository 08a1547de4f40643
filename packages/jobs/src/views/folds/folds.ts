import { type DocumentBody, type Stored } from '@tidemark/contracts'
import { SYSTEM_PROPERTIES } from '@tidemark/contracts/internal'
import { ViewValueError } from '../view-value-error.ts'
import { addExactly, roundedSum, type ExactSum } from './exact-sum.ts'
import type { Fold, RankedFold, Score } from './fold.ts'

/** What is computed of a document; undefined or null leaves the document out. */
type Of<T extends DocumentBody, Value> = (document: Stored<T>) => Value | null | undefined

/** How many documents there are, or of how many `where` is true. */
export function count<T extends DocumentBody>(
  where?: (document: Stored<T>) => boolean,
): Fold<T, 1, number, number> {
  return {
    kind: 'count',
    empty: 0,
    part: (document) => (where === undefined || where(document) ? 1 : undefined),
    add: (state) => state + 1,
    remove: (state) => state - 1,
    value: (state) => state,
  }
}

/**
 * The sum of a number. Exact: it never drifts, and does not depend on the order. For decimal fractions sum whole units,
 * such as cents, because 0.1 itself is not a binary number.
 */
export function sum<T extends DocumentBody>(of: Of<T, number>): Fold<T, number, ExactSum, number> {
  return {
    kind: 'sum',
    empty: [],
    part: (document) => numberOf(of(document)),
    add: addExactly,
    remove: (state, part) => addExactly(state, -part),
    value: roundedSum,
  }
}

/** The mean of a number, exact but for one division; absent where no document has the number. */
export function average<T extends DocumentBody>(
  of: Of<T, number>,
): Fold<T, number, { readonly sum: ExactSum; readonly count: number }, number> {
  return {
    kind: 'average',
    empty: { sum: [], count: 0 },
    part: (document) => numberOf(of(document)),
    add: (state, part) => ({ sum: addExactly(state.sum, part), count: state.count + 1 }),
    remove: (state, part) => ({ sum: addExactly(state.sum, -part), count: state.count - 1 }),
    value: (state) => (state.count === 0 ? undefined : roundedSum(state.sum) / state.count),
  }
}

/** The lowest number or text; absent where no document has one. */
export function min<T extends DocumentBody, V extends Score>(of: Of<T, V>): RankedFold<T, V> {
  return extreme('min', 'lowest', of)
}

/** The highest number or text; absent where no document has one. */
export function max<T extends DocumentBody, V extends Score>(of: Of<T, V>): RankedFold<T, V> {
  return extreme('max', 'highest', of)
}

/**
 * A leaderboard: what `select` makes of the `limit` documents with the highest score, in order. At most 1,000.
 *
 * @param select @default the document
 */
export function top<T extends DocumentBody, V = T>(
  limit: number,
  score: Of<T, Score>,
  select: (document: Stored<T>) => V = withoutSystem,
): RankedFold<T, readonly V[]> {
  return {
    kind: `top ${limit}`,
    limit,
    first: 'highest',
    score,
    select,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by `select`, and stored since
    value: (ranked) => ranked as readonly V[],
  }
}

/**
 * What `select` makes of the newest document that it does not leave out. Documents of different types under one key are
 * joined by one `latest` for each type.
 *
 * @param select @default the document
 * @param order the highest is the newest. @default `_ts`, in seconds
 */
export function latest<T extends DocumentBody, V = T>(
  select: (document: Stored<T>) => V | null | undefined = withoutSystem,
  order: Of<T, Score> = ({ _ts }) => _ts,
): RankedFold<T, V> {
  return {
    kind: 'latest',
    limit: 1,
    first: 'highest',
    score: (document) =>
      (select(document) ?? undefined) === undefined ? undefined : order(document),
    select,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by `select`, and stored since
    value: ([newest]) => newest as V,
  }
}

function extreme<T extends DocumentBody, V extends Score>(
  kind: string,
  first: 'lowest' | 'highest',
  of: Of<T, V>,
): RankedFold<T, V> {
  return {
    kind,
    limit: 1,
    first,
    score: of,
    select: (_, score) => score,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by `of`, and stored since
    value: ([extreme]) => extreme as V,
  }
}

function withoutSystem<T extends DocumentBody, V>(document: Stored<T>): V {
  const own: object = { ...document }
  for (const name of SYSTEM_PROPERTIES) Reflect.deleteProperty(own, name)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- where this is the default, V is T
  return own as V
}

function numberOf(value: number | null | undefined): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new ViewValueError(
    `a sum or average takes numbers, got ${JSON.stringify(value) ?? typeof value}`,
  )
}
