import { BadQueryError } from '../bad-query-error.ts'
import type { Json } from '../json.ts'
import type { QueryParameter } from '../query-options.ts'
import type { Query, RowCount } from '../syntax/query.ts'
import { shown } from '../values/shown.ts'

/**
 * The values of a query's parameters by name. More than it needs may be given.
 *
 * @throws ERR_BAD_QUERY for a parameter of the query that has no value
 */
export function bindParameters(
  query: Query,
  parameters: readonly QueryParameter[] = [],
): ReadonlyMap<string, Json> {
  const values = new Map(parameters.map(({ name, value }) => [name, value]))
  for (const name of query.parameterNames) {
    if (!values.has(name))
      throw new BadQueryError(`the query has no value for its parameter ${name}`)
  }
  return values
}

/**
 * The number behind TOP, OFFSET or LIMIT; undefined without the clause.
 *
 * @throws ERR_BAD_QUERY unless it is a whole number from 0
 */
export function resolveRowCount(
  count: RowCount | undefined,
  parameters: ReadonlyMap<string, Json>,
): number | undefined {
  if (count === undefined) return undefined
  const { value: source } = count
  const value = source.kind === 'literal' ? source.value : undefined
  const resolved = source.kind === 'parameter' ? parameters.get(source.name) : value
  if (typeof resolved === 'number' && Number.isSafeInteger(resolved) && resolved >= 0)
    return resolved
  throw new BadQueryError(`${count.clause} takes a whole number from 0, got ${shown(resolved)}`)
}
