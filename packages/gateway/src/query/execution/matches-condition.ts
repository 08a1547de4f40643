import { systemClock, type Clock } from '@tidemark/contracts'
import type { JsonObject } from '../json.ts'
import type { QueryParameter } from '../query-options.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { Query } from '../syntax/query.ts'
import { bindParameters } from './bind-parameters.ts'
import { createRowEnvironment, visitRowsAtOnce } from './rows.ts'

export interface MatchOptions {
  readonly budget: QueryBudget
  /** @default [] */
  readonly parameters?: readonly QueryParameter[] | undefined
  /** @default systemClock */
  readonly clock?: Clock | undefined
}

/**
 * Whether a document meets WHERE: for the condition of a patch.
 *
 * @throws ERR_BAD_QUERY for a parameter without a value, and where a value breaks a limit; ERR_QUERY_TOO_COSTLY
 */
export function matchesCondition(
  query: Query,
  document: JsonObject,
  { parameters, clock = systemClock, budget }: MatchOptions,
): boolean {
  const row = createRowEnvironment({
    slots: query.slots,
    parameters: bindParameters(query, parameters),
    nowMs: clock.wallMs(),
    budget,
  })
  row.slots[0] = document
  return !visitRowsAtOnce(query, row, () => false)
}
