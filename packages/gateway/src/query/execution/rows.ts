import type { Json } from '../json.ts'
import type { AggregateExpression, Expression, Subquery } from '../syntax/expression.ts'
import type { FromClause, Selection } from '../syntax/query.ts'
import { valueKey } from '../values/value-hash.ts'
import type { AggregateState } from './aggregate-state.ts'
import { createAggregate } from './create-aggregate.ts'
import { Combinations } from './combinations.ts'
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
  ...given
}: Pick<RowEnvironment, 'parameters' | 'nowMs' | 'computed' | 'budget'> & {
  slots: number
}): RowEnvironment {
  const row: RowEnvironment = {
    ...given,
    slots: Array.from<Json>({ length: slots }),
    groupValues: [],
    aggregateValues: [],
    rowsOf: (query, limit) => subqueryRows(query, row, limit),
  }
  return row
}

/**
 * Visits each row of a document that meets WHERE, in the order of the arrays, and lets others have the thread in
 * between. Gives false when the visitor stopped. A promise only where it takes long: most documents have one row.
 *
 * Fails with ERR_QUERY_TOO_COSTLY, and with the reason that the query was ended with.
 */
export function visitRows(
  document: Json,
  { source, row, visit }: { source: RowSource; row: RowEnvironment; visit: RowVisitor },
): boolean | Promise<boolean> {
  const { budget } = row
  row.slots[0] = document
  if (source.from.sources.length === 0) {
    budget.beginRow()
    budget.step()
    const goesOn = !meets(source, row) || visit()
    return budget.turnDue ? budget.turn().then(() => goesOn) : goesOn
  }
  const combinations = new Combinations(source.from, row)
  const goOn = (): boolean | Promise<boolean> => {
    for (;;) {
      budget.beginRow(combinations.keptChars)
      const found = combinations.advance()
      if (found === 'end') return true
      if (found === 'row' && meets(source, row) && !visit()) return false
      if (budget.turnDue) return budget.turn().then(goOn)
    }
  }
  return goOn()
}

/** The same in one piece, as part of one row or of one write: for the document that the environment holds. */
export function visitRowsAtOnce(
  source: RowSource,
  row: RowEnvironment,
  visit: RowVisitor,
): boolean {
  const combinations = new Combinations(source.from, row)
  for (;;) {
    const found = combinations.advance()
    if (found === 'end') return true
    if (found === 'row' && meets(source, row) && !visit()) return false
  }
}

function meets({ where }: RowSource, row: RowEnvironment): boolean {
  return where === undefined || evaluate(where, row) === true
}

/** The value that a row gives; undefined for a row that is left out. */
export function projectRow(selection: Selection, row: RowEnvironment): Json {
  return selection.kind === 'value'
    ? evaluate(selection.value, row)
    : objectOf(selection.items, row)
}

/** Adds the present row to the aggregates of a query or a group; gives the characters that they keep of it. */
export function addToAggregates(
  aggregates: readonly AggregateExpression[],
  states: readonly AggregateState[],
  row: RowEnvironment,
): number {
  let kept = 0
  for (const [index, { operand }] of aggregates.entries()) {
    const value = evaluate(operand, row)
    if (typeof value === 'string') row.budget.read(value.length)
    kept += states[index]?.add(value) ?? 0
  }
  return kept
}

/** Memory of a key that equal values share, in places of an array. */
const KEY_ITEMS = 8

function subqueryRows(query: Subquery, row: RowEnvironment, limit: number): Json[] {
  if (query.aggregates.length > 0) return aggregatedRow(query, row)
  const rows: Json[] = []
  const seen = new Set<string>()
  visitRowsAtOnce(query, row, () => {
    const value = projectRow(query.selection, row)
    if (value === undefined) return true
    if (query.distinct) {
      const key = valueKey(value, row.budget)
      if (seen.has(key)) return true
      row.budget.makeItems(KEY_ITEMS)
      seen.add(key)
    }
    row.budget.makeItems(1)
    rows.push(value)
    return rows.length < limit
  })
  return rows
}

function aggregatedRow(query: Subquery, row: RowEnvironment): Json[] {
  const states = query.aggregates.map(({ name }) => createAggregate(name, row.budget))
  visitRowsAtOnce(query, row, () => {
    addToAggregates(query.aggregates, states, row)
    return true
  })
  const outer = row.aggregateValues
  row.aggregateValues = states.map((state) => state.result())
  const value = projectRow(query.selection, row)
  row.aggregateValues = outer
  return value === undefined ? [] : [value]
}
