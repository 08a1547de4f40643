import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, type Json } from '../json.ts'
import { MAX_ROWS_PER_DOCUMENT } from '../limits.ts'
import type { Expression, Subquery } from '../syntax/expression.ts'
import type { FromClause, FromSource, Selection } from '../syntax/query.ts'
import { valueHash } from '../values/value-hash.ts'
import { createAggregate } from './aggregate-state.ts'
import { evaluate, objectOf } from './evaluate.ts'
import type { RowEnvironment } from './row-environment.ts'

/** What has rows: a query or a subquery. */
export interface RowSource {
  readonly from: FromClause
  readonly where: Expression | undefined
}

/** Called with a row in the environment's slots; true = go on. */
type RowVisitor = () => boolean

/**
 * Makes the environment of one query.
 *
 * @param slots how many values a row holds
 */
export function createRowEnvironment({
  slots,
  parameters,
  nowMs,
  computed,
}: Pick<RowEnvironment, 'parameters' | 'nowMs' | 'computed'> & { slots: number }): RowEnvironment {
  const row: RowEnvironment = {
    slots: Array.from<Json>({ length: slots }),
    parameters,
    nowMs,
    computed,
    groupValues: [],
    aggregateValues: [],
    rowsLeft: MAX_ROWS_PER_DOCUMENT,
    rowsOf: (query, limit) => subqueryRows(query, row, limit),
  }
  return row
}

/** Puts a document into the environment, with a fresh budget of combinations. */
export function enterDocument(row: RowEnvironment, document: Json): void {
  row.slots[0] = document
  row.rowsLeft = MAX_ROWS_PER_DOCUMENT
}

/**
 * Visits each row of the present document that meets WHERE, in the order of the arrays. Gives false when
 * the visitor stopped.
 *
 * @throws ERR_BAD_QUERY when JOINs make too many combinations
 */
export function visitRows(source: RowSource, row: RowEnvironment, visit: RowVisitor): boolean {
  return visitSource(source, { row, visit, index: 0 })
}

function visitSource(
  { from, where }: RowSource,
  { row, visit, index }: { row: RowEnvironment; visit: RowVisitor; index: number },
): boolean {
  if (row.rowsLeft-- <= 0) {
    throw new BadQueryError(`JOIN makes more than ${MAX_ROWS_PER_DOCUMENT} rows of one document`)
  }
  const source = from.sources[index]
  if (source === undefined) {
    return where !== undefined && evaluate(where, row) !== true ? true : visit()
  }
  for (const value of sourceValues(source, row)) {
    row.slots[source.slot] = value
    if (!visitSource({ from, where }, { row, visit, index: index + 1 })) return false
  }
  return true
}

function sourceValues({ from, each }: FromSource, row: RowEnvironment): readonly Json[] {
  const values = from.kind === 'rows' ? row.rowsOf(from.query, Infinity) : [evaluate(from, row)]
  if (each === 'value') return values.filter((value) => value !== undefined)
  // The usual case: no copy of the array.
  if (values.length === 1 && isJsonArray(values[0])) return values[0]
  return values.filter(isJsonArray).flat()
}

/** The value that a row gives; undefined for a row that is left out. */
export function projectRow(selection: Selection, row: RowEnvironment): Json {
  return selection.kind === 'value'
    ? evaluate(selection.value, row)
    : objectOf(selection.items, row)
}

function subqueryRows(query: Subquery, row: RowEnvironment, limit: number): Json[] {
  if (query.aggregates.length > 0) return aggregatedRow(query, row)
  const rows: Json[] = []
  const seen = new Set<string>()
  visitRows(query, row, () => {
    const value = projectRow(query.selection, row)
    if (value === undefined) return true
    if (query.distinct) {
      const hash = valueHash(value)
      if (seen.has(hash)) return true
      seen.add(hash)
    }
    rows.push(value)
    return rows.length < limit
  })
  return rows
}

function aggregatedRow(query: Subquery, row: RowEnvironment): Json[] {
  const states = query.aggregates.map(({ name }) => createAggregate(name))
  visitRows(query, row, () => {
    for (const [index, { operand }] of query.aggregates.entries()) {
      states[index]?.add(evaluate(operand, row))
    }
    return true
  })
  const outer = row.aggregateValues
  row.aggregateValues = states.map((state) => state.result())
  const value = projectRow(query.selection, row)
  row.aggregateValues = outer
  return value === undefined ? [] : [value]
}
