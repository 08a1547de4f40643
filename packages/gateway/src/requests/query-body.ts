import { BadRequestError } from '../errors/bad-request-error.ts'
import { isJsonRecord, parseJsonRecord } from '../protocol/request-values.ts'
import type { Json } from '../query/json.ts'
import { MAX_VALUE_DEPTH } from '../query/limits.ts'
import type { QueryParameter } from '../query/query-options.ts'

/** A query as it comes. */
export interface QueryBody {
  readonly text: string
  readonly parameters: readonly QueryParameter[]
}

/** @throws ERR_BAD_REQUEST when it is no query; what the text says is judged later */
export function parseQueryBody(body: string): QueryBody {
  const { query, parameters = [] } = parseJsonRecord(body)
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
  // Whoever writes such a value as text again, or compares it, would run out of stack.
  if (isDeeperThan(value['value'], MAX_VALUE_DEPTH)) {
    throw new BadRequestError(`the value of parameter ${index} of the query is nested too deeply`)
  }
  // It came out of JSON.parse.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return { name, value: value['value'] as Json }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1))
}
