import { BadRequestError } from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import { parseJsonRecord, type ParseBudget } from '../protocol/request-values.ts'
import type { Json } from '../query/json.ts'
import type { QueryParameter } from '../query/query-options.ts'

/** A query as it comes. */
export interface QueryBody {
  readonly text: string
  readonly parameters: readonly QueryParameter[]
}

/** @throws ERR_BAD_REQUEST when it is no query, ERR_QUERY_TOO_COSTLY; what the text says is judged later */
export function parseQueryBody(body: string, budget: ParseBudget): QueryBody {
  const { query, parameters = [] } = parseJsonRecord(body, budget)
  if (typeof query !== 'string') {
    throw new BadRequestError('a query needs a "query" that is a string')
  }
  if (parameters !== null && !Array.isArray(parameters)) {
    throw new BadRequestError('the "parameters" of a query must be a list')
  }
  return { text: query, parameters: (parameters ?? []).map(parseParameter) }
}

function parseParameter(value: unknown, index: number): QueryParameter {
  const name = isJsonRecord(value) ? value['name'] : undefined
  if (!isJsonRecord(value) || typeof name !== 'string') {
    throw new BadRequestError(`parameter ${index} of the query must have a "name"`)
  }
  // It came out of JSON.parse.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return { name, value: value['value'] as Json }
}
