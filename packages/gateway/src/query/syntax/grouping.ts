import { BadQueryError } from '../bad-query-error.ts'
import type { AggregateExpression, Expression } from './expression.ts'
import { ExpressionKeys } from './expression-keys.ts'
import { childrenOf, mapChildren } from './map-expression.ts'
import type { OrderItem, Selection } from './query.ts'

/** A selection that speaks of the results of groups, and the aggregates it needs. */
export interface Grouped {
  readonly selection: Selection
  readonly aggregates: readonly AggregateExpression[]
}

interface GroupingRequest {
  readonly selection: Selection
  readonly groupBy: readonly Expression[]
  /** Names of slots from here on are the query's own rows; those before it are fixed for a subquery. */
  readonly firstSlot: number
}

/**
 * Replaces aggregates and GROUP BY expressions by their results; a selection without either stays.
 *
 * @throws ERR_BAD_QUERY for a column that is neither aggregated nor grouped by
 */
export function groupSelection({ selection, groupBy, firstSlot }: GroupingRequest): Grouped {
  if (groupBy.length === 0 && !expressionsOf(selection).some(hasAggregate)) {
    return { selection, aggregates: [] }
  }
  const keys = new ExpressionKeys()
  const groupKeys = new Map(groupBy.map((value, index) => [keys.of(value), index]))
  const aggregates = new Map<number, { index: number; aggregate: AggregateExpression }>()
  const replace = (expression: Expression): Expression => {
    const key = keys.of(expression)
    const group = groupKeys.get(key)
    if (group !== undefined) return { kind: 'result', of: 'group', index: group }
    if (expression.kind === 'aggregate') {
      const known = aggregates.get(key) ?? { index: aggregates.size, aggregate: expression }
      aggregates.set(key, known)
      return { kind: 'result', of: 'aggregate', index: known.index }
    }
    if (expression.kind === 'path') {
      // GROUP BY c.a also allows c.a.b.
      const groups = keys.ofBeginnings(expression).map((begin) => groupKeys.get(begin))
      const length = groups.findLastIndex((begin) => begin !== undefined)
      if (length > 0) {
        const root: Expression = { kind: 'result', of: 'group', index: groups[length]! }
        return { kind: 'path', root, steps: expression.steps.slice(length).map(replace) }
      }
    }
    refuseRowValue(expression, firstSlot)
    return mapChildren(expression, replace)
  }
  const replaced = mapSelection(selection, replace)
  return { selection: replaced, aggregates: [...aggregates.values()].map((item) => item.aggregate) }
}

function refuseRowValue(expression: Expression, firstSlot: number): void {
  if (expression.kind === 'variable' && expression.slot >= firstSlot) {
    throw new BadQueryError(
      `'${expression.name}' in SELECT is neither inside an aggregate nor named by GROUP BY`,
    )
  }
  if (expression.kind === 'subquery') {
    throw new BadQueryError('a subquery in SELECT beside an aggregate or GROUP BY is not supported')
  }
}

function hasAggregate(expression: Expression): boolean {
  return expression.kind === 'aggregate' || childrenOf(expression).some(hasAggregate)
}

function expressionsOf(selection: Selection): Expression[] {
  return selection.kind === 'value' ? [selection.value] : selection.items.map(({ value }) => value)
}

function mapSelection(
  selection: Selection,
  map: (expression: Expression) => Expression,
): Selection {
  if (selection.kind === 'value') return { ...selection, value: map(selection.value) }
  return {
    kind: 'list',
    items: selection.items.map((item) => ({ ...item, value: map(item.value) })),
  }
}

/**
 * Equal rows of DISTINCT must have equal places in the order, or which of them stays would be chance.
 *
 * @throws ERR_BAD_QUERY when ORDER BY speaks of something that SELECT DISTINCT leaves out
 */
export function checkDistinctOrder(selection: Selection, orderBy: readonly OrderItem[]): void {
  const keys = new ExpressionKeys()
  const selected = new Set(expressionsOf(selection).map((expression) => keys.of(expression)))
  const isSelected = (expression: Expression): boolean => {
    if (selected.has(keys.of(expression))) return true
    switch (expression.kind) {
      case 'literal':
      case 'parameter':
        return true
      case 'path':
        return keys.ofBeginnings(expression).some((begin) => selected.has(begin))
      case 'variable':
      case 'subquery':
        return false
      default:
        return childrenOf(expression).every(isSelected)
    }
  }
  if (!orderBy.every(({ value }) => isSelected(value))) {
    throw new BadQueryError('ORDER BY of a SELECT DISTINCT must be on what is selected')
  }
}
