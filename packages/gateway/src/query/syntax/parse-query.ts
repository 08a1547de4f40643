import { QueryParser } from './query-parser.ts'
import type { Query, WrittenQuery } from './query.ts'

/**
 * Reads a query.
 *
 * @throws ERR_BAD_QUERY naming the construct that is wrong or not supported, and where it stands
 */
export function parseQuery(text: string): WrittenQuery {
  return new QueryParser(text).query()
}

/**
 * Reads the condition of a patch, `from c where …`.
 *
 * @throws ERR_BAD_QUERY as `parseQuery`
 */
export function parseCondition(text: string): Query {
  return new QueryParser(text).condition()
}
