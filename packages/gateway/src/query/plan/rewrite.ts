import { BadQueryError } from '../bad-query-error.ts'
import type { AggregateExpression, AggregateName, Expression } from '../syntax/expression.ts'
import { ExpressionKeys } from '../syntax/expression-keys.ts'
import { childrenOf } from '../syntax/map-expression.ts'
import type { Selection, SelectItem, WrittenQuery } from '../syntax/query.ts'

/** The numbers behind TOP, OFFSET and LIMIT. */
export interface Bounds {
  readonly top: number | undefined
  readonly offset: number | undefined
  readonly limit: number | undefined
}

/** How aggregates of ranges are named to the client that adds them up. */
export type AggregateType = (typeof AGGREGATE_TYPES)[AggregateName]

/** What each range is asked, and how its rows are merged. */
export interface Rewritten {
  /** Whether rows come once: `Ordered` where equal ones stand together. */
  readonly distinctType: 'None' | 'Ordered' | 'Unordered'
  readonly orderBy: readonly ('Ascending' | 'Descending')[]
  readonly orderByExpressions: readonly string[]
  readonly groupByExpressions: readonly string[]
  readonly groupByAliases: readonly string[]
  /** Of SELECT VALUE. */
  readonly aggregates: readonly AggregateType[]
  /** Of each named column; null for what is no aggregate. */
  readonly groupByAliasToAggregateType: Readonly<Record<string, AggregateType | null>>
  /** Empty where each range is asked the query as it is. */
  readonly rewrittenQuery: string
  /** Where the client is to count the different rows; the name is empty for SELECT VALUE. */
  readonly dCountInfo: { readonly dCountAlias: string } | null
}

const AGGREGATE_TYPES = {
  COUNT: 'Count',
  SUM: 'Sum',
  MIN: 'Min',
  MAX: 'Max',
  AVG: 'Average',
  MAKELIST: 'MakeList',
  MAKESET: 'MakeSet',
} as const

const UNCHANGED: Rewritten = {
  distinctType: 'None',
  orderBy: [],
  orderByExpressions: [],
  groupByExpressions: [],
  groupByAliases: [],
  aggregates: [],
  groupByAliasToAggregateType: {},
  rewrittenQuery: '',
  dCountInfo: null,
}

/** Clients put a condition in its place: `true`, or where they go on from. */
const RESUME_CONDITION = '({documentdb-formattableorderbyquery-filter})'

/** @throws ERR_BAD_QUERY for a query whose rows no client could merge */
export function rewrite(query: WrittenQuery, bounds: Bounds): Rewritten {
  if (query.from.derived !== undefined) return distinctCount(query, query.from.derived.text)
  if (query.groupBy.length > 0 || query.aggregates.length > 0) return grouped(query)
  if (query.orderBy.length > 0) return ordered(query, bounds)
  const { top, offset = 0, limit } = bounds
  const plain = `SELECT ${query.distinct ? 'DISTINCT ' : ''}${wholeText(query.selection)}`
  const rest = tail(query, query.texts.where)
  if (query.distinct) {
    const isBounded = top !== undefined || limit !== undefined
    // Ranges may have the same rows: each has to give all of them.
    const rewrittenQuery = isBounded ? plain + rest : ''
    return { ...UNCHANGED, distinctType: 'Unordered', rewrittenQuery }
  }
  if (limit === undefined) return UNCHANGED
  return { ...UNCHANGED, rewrittenQuery: `${plain}${rest} OFFSET 0 LIMIT ${offset + limit}` }
}

/**
 * What a continuation of a query belongs to: its text, and of one that was rewritten for ORDER BY all but its condition.
 * Clients that go on later put another condition into it, and give the continuation all the same.
 */
export function identityOf({ text, selection, texts, orderBy }: WrittenQuery): string {
  const items = selection.kind === 'list' ? selection.items : []
  const names = items.map(({ name }) => name).join()
  if (orderBy.length === 0 || names !== REWRITTEN_COLUMNS) return text
  const directions = orderBy.map(({ descending }) => descending)
  return JSON.stringify([items.map((item) => item.text), texts.from, texts.orderBy, directions])
}

const REWRITTEN_COLUMNS = '_rid,orderByItems,payload'

/** Rows with what they are ordered by beside them. */
function ordered(query: WrittenQuery, { top, offset = 0, limit }: Bounds): Rewritten {
  const { selection, texts, distinct } = query
  const document = documentName(query)
  const isStar = selection.kind === 'value' && selection.text === '*'
  const payload = isStar ? document : payloadText(selection)
  const conditions = [
    ...(texts.where === undefined ? [] : [`(${texts.where})`]),
    RESUME_CONDITION,
    ...(selection.kind === 'value' && !isStar ? [`IS_DEFINED(${payload})`] : []),
  ]
  const orders = query.orderBy.map(({ descending }, index) => {
    return `${texts.orderBy[index] ?? ''}${descending ? ' DESC' : ''}`
  })
  const first = top === undefined || distinct ? '' : `TOP ${top} `
  const last = limit === undefined || distinct ? '' : ` OFFSET 0 LIMIT ${offset + limit}`
  return {
    ...UNCHANGED,
    distinctType: distinctType(query),
    orderBy: query.orderBy.map(({ descending }) => (descending ? 'Descending' : 'Ascending')),
    orderByExpressions: texts.orderBy,
    rewrittenQuery:
      `SELECT ${first}${document}._rid, ${itemsText(texts.orderBy)} AS orderByItems, ${payload} AS payload` +
      `${tail(query, conditions.join(' AND '))} ORDER BY ${orders.join(', ')}${last}`,
  }
}

/** Equal rows stand together when everything that is selected is ordered by. */
function distinctType({ distinct, selection, orderBy }: WrittenQuery): Rewritten['distinctType'] {
  if (!distinct) return 'None'
  const keys = new ExpressionKeys()
  const orderKeys = new Set(orderBy.map(({ value }) => keys.of(value)))
  const selected = selection.kind === 'value' ? [selection] : selection.items
  return selected.every(({ value }) => orderKeys.has(keys.of(value))) ? 'Ordered' : 'Unordered'
}

/** Groups, or the one row of aggregates: each aggregate as what can be added to that of another range. */
function grouped(query: WrittenQuery): Rewritten {
  const { selection, texts, groupBy } = query
  const items = groupBy.length === 0 ? '' : `${itemsText(texts.groupBy)} AS groupByItems, `
  const groups = groupBy.length === 0 ? '' : ` GROUP BY ${texts.groupBy.join(', ')}`
  const rest = tail(query, texts.where) + groups
  const common = { ...UNCHANGED, groupByExpressions: texts.groupBy }
  if (selection.kind === 'value') {
    const aggregate = aggregateOf(selection.value, query)
    const payload = aggregate ? `[${partialText(aggregate)}]` : selection.text
    const columns = groupBy.length === 0 ? `VALUE ${payload}` : `${items}${payload} AS payload`
    const aggregates = aggregate ? [AGGREGATE_TYPES[aggregate.name]] : []
    return { ...common, aggregates, rewrittenQuery: `SELECT ${columns}${rest}` }
  }
  const columns = selection.items.map((item) => {
    const aggregate = aggregateOf(item.value, query)
    return { ...item, aggregate, text: aggregate ? partialText(aggregate) : item.text }
  })
  return {
    ...common,
    groupByAliases: columns.map(({ name }) => name),
    groupByAliasToAggregateType: Object.fromEntries(
      columns.map(({ name, aggregate }) => [
        name,
        aggregate ? AGGREGATE_TYPES[aggregate.name] : null,
      ]),
    ),
    rewrittenQuery: `SELECT ${items}${objectText(columns)} AS payload${rest}`,
  }
}

/** The aggregate that a column is; undefined for a column without any. */
function aggregateOf(value: Expression, query: WrittenQuery): AggregateExpression | undefined {
  if (value.kind === 'result' && value.of === 'aggregate') return query.aggregates[value.index]
  if (!hasAggregate(value)) return undefined
  throw new BadQueryError(
    'Compositions of aggregates and other expressions are not allowed over several partition key ranges: ' +
      'select the aggregates alone, or name one partition key value',
  )
}

function hasAggregate(value: Expression): boolean {
  return (
    (value.kind === 'result' && value.of === 'aggregate') || childrenOf(value).some(hasAggregate)
  )
}

function partialText({ name, operandText: of }: AggregateExpression): string {
  if (name === 'AVG') return `{"item": {"sum": SUM(${of}), "count": COUNT(${of})}}`
  const item = `"item": ${name}(${of})`
  if (name !== 'MIN' && name !== 'MAX') return `{${item}}`
  return `{${item}, "item2": {"${name.toLowerCase()}": ${name}(${of}), "count": COUNT(${of})}}`
}

/** COUNT over SELECT DISTINCT: the client counts the different rows. */
function distinctCount(query: WrittenQuery, rewrittenQuery: string): Rewritten {
  const { selection, aggregates, from, where, top, limit } = query
  const [aggregate, ...others] = aggregates
  const columns = selection.kind === 'value' ? [{ ...selection, name: '' }] : selection.items
  const [column] = columns
  const isCount =
    aggregate?.name === 'COUNT' &&
    isInEachRow(aggregate.operand) &&
    others.length === 0 &&
    columns.length === 1 &&
    column?.value.kind === 'result'
  const isWhole = from.sources.length === 0 && where === undefined
  if (!isCount || !isWhole || top !== undefined || limit !== undefined) {
    throw new BadQueryError(
      'over several partition key ranges, SELECT DISTINCT in FROM can only be counted as a whole: ' +
        'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT …); otherwise name one partition key value',
    )
  }
  const dCountInfo = { dCountAlias: column.name }
  return { ...UNCHANGED, distinctType: 'Unordered', rewrittenQuery, dCountInfo }
}

/** Whether COUNT of it counts each row: a constant, or the row itself. */
function isInEachRow(operand: Expression): boolean {
  if (operand.kind === 'literal') return operand.value !== undefined
  return operand.kind === 'variable' && operand.slot === 0
}

/** The name of the document, whose `_rid` settles ties. */
function documentName({ from }: WrittenQuery): string {
  const name = from.documentName
  if (name !== undefined && !from.sources.some(({ alias }) => alias === name)) return name
  // In the service's words at first.
  throw new BadQueryError(
    'Order-by over correlated collections is not supported over several partition key ranges: ' +
      'name the document in FROM (FROM c JOIN x IN c.items), or name one partition key value',
  )
}

function tail({ texts: { from } }: WrittenQuery, where: string | undefined): string {
  return (
    (from === undefined ? '' : ` FROM ${from}`) + (where === undefined ? '' : ` WHERE ${where}`)
  )
}

function wholeText(selection: Selection): string {
  const isStar = selection.kind === 'value' && selection.text === '*'
  return isStar ? '*' : `VALUE ${payloadText(selection)}`
}

function payloadText(selection: Selection): string {
  return selection.kind === 'value' ? selection.text : objectText(selection.items)
}

function objectText(items: readonly Pick<SelectItem, 'name' | 'text'>[]): string {
  return `{${items.map(({ name, text }) => `${JSON.stringify(name)}: ${text}`).join(', ')}}`
}

function itemsText(texts: readonly string[]): string {
  return `[${texts.map((text) => `{"item": ${text}}`).join(', ')}]`
}
