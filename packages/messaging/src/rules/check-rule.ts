import { actionOf, type RuleRecord } from '@tidemark/store/messages'
import { parseAction, parseFilter } from './parse-sql.ts'
import { InvalidRuleError } from '../errors/invalid-rule-error.ts'

/** Checks that filter and action can be parsed. @throws ERR_INVALID_RULE */
export function checkRule(rule: Pick<RuleRecord, 'filter' | 'action' | 'actionParameters'>): void {
  const { filter } = rule
  const action = actionOf(rule)
  if (filter.kind === 'sql') within('filter', () => parseFilter(filter))
  if (action !== undefined) within('action', () => parseAction(action))
}

function within(part: string, parse: () => unknown): void {
  try {
    parse()
  } catch (error) {
    if (!(error instanceof InvalidRuleError)) throw error
    throw new InvalidRuleError(`${part}: ${error.message}`, { cause: error })
  }
}
