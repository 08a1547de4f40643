import type { QueryBudget } from './query-budget.ts'
import { parseQuery } from './syntax/parse-query.ts'
import type { WrittenQuery } from './syntax/query.ts'

/** Reads a query when others have had the thread: a long text takes longer than many rows. Rejects as `parseQuery` throws. */
export async function parseInTurn(text: string, budget: QueryBudget): Promise<WrittenQuery> {
  if (budget.turnDue) await budget.turn()
  return parseQuery(text, budget)
}
