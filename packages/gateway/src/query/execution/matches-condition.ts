import { systemClock, type Clock } from '@tidemark/contracts'
import type { JsonObject } from '../json.ts'
import type { QueryParameter } from '../query-options.ts'
import type { Query } from '../syntax/query.ts'
import { bindParameters } from './bind-parameters.ts'
import { createRowEnvironment, enterDocument, visitRows } from './rows.ts'

export interface MatchOptions {
  /** @default [] */
  readonly parameters?: readonly QueryParameter[] | undefined
  /** @default systemClock */
  readonly clock?: Clock | undefined
}

/**
 * Whether a document meets WHERE: for the condition of a patch.
 *
 * @throws ERR_BAD_QUERY for a parameter without a value, and where a value breaks a limit
 */
export function matchesCondition(
  query: Query,
  document: JsonObject,
  { parameters, clock = systemClock }: MatchOptions = {},
): boolean {
  const row = createRowEnvironment({
    slots: query.slots,
    parameters: bindParameters(query, parameters),
    nowMs: clock.wallMs(),
  })
  enterDocument(row, document)
  return !visitRows(query, row, () => false)
}
