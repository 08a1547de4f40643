import { matchesCondition } from '../query/execution/matches-condition.ts'
import { parseCondition } from '../query/syntax/parse-query.ts'
import type { Json, JsonObject } from '../query/json.ts'
import type { QueryBudget } from '../query/query-budget.ts'

/** Whether a patch is to happen, judged on the present version. */
export type DocumentCondition = (document: object) => boolean

/**
 * The condition of a patch, as `from c where c.status = "open"`. All conditions of one request share its budget.
 *
 * @throws ERR_BAD_QUERY, ERR_QUERY_TOO_COSTLY
 */
export function patchCondition(text: string, budget: QueryBudget): DocumentCondition {
  const query = parseCondition(text, budget)
  return (document) => matchesCondition(query, asJson(document), { budget })
}

function asJson(document: object): JsonObject {
  // A stored document came out of JSON.parse.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return document as { readonly [name: string]: Json }
}
