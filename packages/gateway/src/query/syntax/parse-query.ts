import type { QueryBudget } from '../query-budget.ts'
import { QueryParser } from './query-parser.ts'
import type { Query, WrittenQuery } from './query.ts'

/**
 * Reads a query.
 *
 * @param budget what it may cost, for texts of clients; absent = any length
 * @throws ERR_BAD_QUERY naming the construct that is wrong or not supported, and where it stands; ERR_QUERY_TOO_COSTLY
 */
export function parseQuery(text: string, budget?: QueryBudget): WrittenQuery {
  return new QueryParser(text, budget).query()
}

/**
 * Reads the condition of a patch, `from c where …`.
 *
 * @throws ERR_BAD_QUERY as `parseQuery`
 */
export function parseCondition(text: string, budget?: QueryBudget): Query {
  return new QueryParser(text, budget).condition()
}
