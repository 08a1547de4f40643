import { BadQueryError } from '../bad-query-error.ts'
import type { Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { ComputedProperty } from '../query-options.ts'
import { parseQuery } from '../syntax/parse-query.ts'
import type { Query } from '../syntax/query.ts'
import { evaluate } from './evaluate.ts'
import type { RowEnvironment } from './row-environment.ts'
import { createRowEnvironment } from './rows.ts'

const NO_PARAMETERS: ReadonlyMap<string, Json> = new Map()

/** By name, what a document's computed properties are worked out with; each is read when it is first asked for. */
export function computedValues(
  properties: readonly ComputedProperty[],
  shared: Pick<RowEnvironment, 'nowMs' | 'budget'>,
): RowEnvironment['computed'] {
  if (properties.length === 0) return undefined
  return new Map(properties.map((property) => [property.name, evaluator(property, shared)]))
}

function evaluator(
  property: ComputedProperty,
  shared: Pick<RowEnvironment, 'nowMs' | 'budget'>,
): (document: Json) => Json {
  let ready: { query: Query; row: RowEnvironment } | undefined
  // Once a document, however often a query names it.
  let last: { readonly document: Json; readonly value: Json } | undefined
  return (document) => {
    if (last !== undefined && last.document === document) return last.value
    if (ready === undefined) {
      const query = readDefinition(property, shared.budget)
      const row = createRowEnvironment({ slots: query.slots, parameters: NO_PARAMETERS, ...shared })
      ready = { query, row }
    }
    const { query, row } = ready
    row.slots[0] = document
    const { selection } = query
    last = {
      document,
      value: selection.kind === 'value' ? evaluate(selection.value, row) : undefined,
    }
    return last.value
  }
}

/** @throws ERR_BAD_QUERY for a definition that is more than one expression over the document */
function readDefinition({ name, query: text }: ComputedProperty, budget: QueryBudget): Query {
  const query = parsed({ name, text, budget })
  const isPlain =
    query.selection.kind === 'value' &&
    query.from.documentName !== undefined &&
    query.from.sources.length === 0 &&
    query.where === undefined &&
    query.aggregates.length + query.groupBy.length + query.orderBy.length === 0 &&
    query.parameterNames.size === 0 &&
    !query.distinct &&
    query.top === undefined &&
    query.limit === undefined
  if (isPlain) return query
  throw new BadQueryError(
    `the computed property '${name}' of the container must be of the form SELECT VALUE … FROM c`,
  )
}

function parsed({
  name,
  text,
  budget,
}: {
  readonly name: string
  readonly text: string
  readonly budget: QueryBudget
}): Query {
  try {
    return parseQuery(text, budget)
  } catch (cause) {
    if (!(cause instanceof BadQueryError)) throw cause
    const message = `the computed property '${name}' of the container: ${cause.message}`
    throw new BadQueryError(message, { cause })
  }
}
