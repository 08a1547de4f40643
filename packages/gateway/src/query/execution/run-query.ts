import { FULL_RANGE, systemClock } from '@tidemark/contracts'
import { BadQueryError } from '../bad-query-error.ts'
import type { DocumentSource } from '../document-source.ts'
import { MAX_PAGE_ROWS } from '../limits.ts'
import type { JsonObject } from '../json.ts'
import { QueryBudget } from '../query-budget.ts'
import { QueryTurns } from '../query-turns.ts'
import type { QueryResultPage, RunQueryOptions } from '../query-options.ts'
import type { Query } from '../syntax/query.ts'
import { valueChars } from '../values/value-size.ts'
import { bindParameters, resolveRowCount } from './bind-parameters.ts'
import { computedValues } from './computed-properties.ts'
import {
  decodeContinuation,
  encodeContinuation,
  hashOfQuery,
  type ContinuationOwner,
  type QueryProgress,
} from './continuation.ts'
import type { QueryRun, RunResult } from './query-run.ts'
import type { Boundary } from './rank.ts'
import { createRowEnvironment } from './rows.ts'
import { runAggregates } from './run-aggregates.ts'
import { runRanked } from './run-ranked.ts'
import { runStream } from './run-stream.ts'

/** The source of a query without FROM: one row of nothing. */
const NOTHING: DocumentSource = {
  read: () =>
    Promise.resolve({ documents: [{}], position: undefined, positionAfter: () => '', done: true }),
}

function sourceOf(
  { readsDocuments, from }: Query,
  options: RunQueryOptions,
  budget: QueryBudget,
): DocumentSource {
  if (!readsDocuments) return NOTHING
  return from.derived === undefined ? options.source : derivedSource(from.derived, options, budget)
}

/** The rows of a subquery as documents, all of them; only for aggregates, which ask for no place between them. */
function derivedSource(
  derived: Query,
  options: RunQueryOptions,
  budget: QueryBudget,
): DocumentSource {
  return {
    read: async ({ after, signal }) => {
      const { items, continuation } = await runQuery(derived, {
        ...options,
        budget,
        continuation: after,
        maxItemCount: MAX_PAGE_ROWS,
        signal,
      })
      return {
        // Rows are values of any kind, and aggregates take documents for nothing else.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
        documents: items as readonly JsonObject[],
        position: continuation,
        positionAfter: () => '',
        done: continuation === undefined,
      }
    },
  }
}

/**
 * One page of a query. Each kind of query can be paged; see `runStream`, `runRanked` and `runAggregates`
 * for what holds when documents change between pages.
 *
 * Rejects with ERR_BAD_QUERY for parameters, values and continuations that do not fit, with ERR_QUERY_TOO_COSTLY, with
 * what the source rejects with, and with the signal's reason.
 */
export async function runQuery(query: Query, options: RunQueryOptions): Promise<QueryResultPage> {
  const { scope = '', range = FULL_RANGE, orderByUndefined = 'first', parameters = [] } = options
  const values = bindParameters(query, parameters)
  const { clock = systemClock, signal } = options
  const budget = options.budget ?? new QueryBudget({ turns: new QueryTurns(clock), signal })
  for (const { value } of parameters) valueChars(value, budget)
  const queryHash = hashOfQuery([
    options.identity ?? query.text,
    parameters,
    scope,
    orderByUndefined,
  ])
  const owner = { queryHash, range }
  const isRanked = kindOf(query) === 'ranked'
  const nowMs = clock.wallMs()
  const { derived } = query.from
  // Rows of a subquery have what it selected, and no more.
  const computed = derived
    ? undefined
    : computedValues(options.computedProperties ?? [], { nowMs, budget })
  const run: Omit<QueryRun, 'progress'> = {
    query,
    row: createRowEnvironment({ slots: query.slots, parameters: values, nowMs, computed, budget }),
    source: sourceOf(query, options, budget),
    maxRows: resolveMaxRows(options.maxItemCount, isRanked ? 1000 : 100),
    maxExamined: options.maxExaminedPerPage ?? 10_000,
    leaveOutUndefined: orderByUndefined === 'leave-out',
    signal,
  }
  const { items, next, examined } = await runKind(run, startOf(query, { values, owner, options }))
  // To write a large page takes as long as to read it.
  if (budget.turnDue) await budget.turn()
  return {
    items,
    continuation: next && encodeContinuation(next, owner),
    examined,
    steps: budget.steps,
  }
}

function kindOf({
  orderBy,
  distinct,
  groupBy,
  aggregates,
}: Query): 'ranked' | 'aggregates' | 'stream' {
  if (groupBy.length > 0) return 'ranked'
  if (aggregates.length > 0) return 'aggregates'
  return orderBy.length > 0 || distinct ? 'ranked' : 'stream'
}

function runKind(run: Omit<QueryRun, 'progress'>, progress: QueryProgress): Promise<RunResult> {
  if (progress.kind === 'ranked') return runRanked({ ...run, progress })
  const isAggregate = kindOf(run.query) === 'aggregates'
  return isAggregate ? runAggregates({ ...run, progress }) : runStream({ ...run, progress })
}

function startOf(
  query: Query,
  context: {
    values: ReturnType<typeof bindParameters>
    owner: ContinuationOwner
    options: RunQueryOptions
  },
): QueryProgress {
  const { values, owner, options } = context
  const top = resolveRowCount(query.top, values)
  const offset = resolveRowCount(query.offset, values) ?? 0
  const limit = resolveRowCount(query.limit, values) ?? top
  const kind = kindOf(query) === 'ranked' ? 'ranked' : 'stream'
  if (options.continuation !== undefined) {
    const progress = decodeContinuation(options.continuation, owner)
    if (progress.kind !== kind)
      throw new BadQueryError('Invalid Continuation Token: it is of another kind of query')
    if (progress.kind === 'ranked' && !isOfOrder(progress.boundary, query.orderBy.length)) {
      throw new BadQueryError('Invalid Continuation Token: it has not the keys of ORDER BY')
    }
    return progress
  }
  return kind === 'ranked'
    ? { kind, boundary: undefined, offset, limit }
    : { kind, after: undefined, rowsGiven: 0, offset, limit }
}

function isOfOrder(boundary: Boundary | undefined, keys: number): boolean {
  if (boundary === undefined) return true
  return boundary.kind === 'exact'
    ? boundary.rank.keys.length === keys
    : boundary.keys.length <= keys
}

function resolveMaxRows(maxItemCount: number | undefined, ownChoice: number): number {
  if (maxItemCount === undefined || maxItemCount === -1) return ownChoice
  if (!Number.isSafeInteger(maxItemCount) || maxItemCount < 1) {
    throw new BadQueryError(
      `the page size must be -1 or a whole number above 0, got ${String(maxItemCount)}`,
    )
  }
  return Math.min(maxItemCount, MAX_PAGE_ROWS)
}
