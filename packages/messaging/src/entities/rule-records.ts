import { InvalidOptionError } from '@tidemark/contracts'
import { checkOptions, optionGroup } from '@tidemark/contracts/internal'
import type { RuleFilter, RuleRecord, SqlText } from '@tidemark/store/messages'
import { InvalidRuleError } from '../errors/invalid-rule-error.ts'
import { toStoredValues } from '../messages/stored-value.ts'
import { checkRule } from '../rules/check-rule.ts'
import { isSameName, problemOfRuleName } from './entity-names.ts'
import { CORRELATION_RULES, RULE_RULES, SQL_RULES } from './option-rules.ts'
import type { RuleOptions, SqlRuleFilter } from './options.ts'

/** Of a correlation filter, or of parameters, as they are stored: SQL has a bound of its own. */
const MAX_STORED_CHARACTERS = 8192

/** Of a subscription. All of them stand in one record, which is read before each send to the topic. */
const MAX_RULES = 1000

/** Runs `read` for the rule at a place in a list. Undefined: a problem was reported. */
export type AttemptRule = (index: number, read: () => RuleRecord) => RuleRecord | undefined

/** The rules of a subscription; without any, one that matches everything (TOP-02). */
export function readRules(
  rules: readonly RuleOptions[] | undefined,
  createdMs: number,
  attempt: AttemptRule = rethrow,
): readonly RuleRecord[] {
  if (rules === undefined) {
    return [{ name: '$Default', filter: { kind: 'true' }, action: undefined, createdMs }]
  }
  const records: RuleRecord[] = []
  for (const [index, rule] of rules.entries()) {
    const record = attempt(index, () => checkNextRule(readRule(rule, createdMs), records))
    if (record !== undefined) records.push(record)
  }
  return records
}

/**
 * Checks that a rule can stand beside others.
 *
 * @throws ERR_INVALID_OPTION
 */
export function checkNextRule(rule: RuleRecord, others: readonly RuleRecord[]): RuleRecord {
  if (others.some(({ name }) => isSameName(name, rule.name))) {
    throw new InvalidOptionError(`name ${JSON.stringify(rule.name)} is used by another rule`)
  }
  if (others.length >= MAX_RULES) {
    throw new InvalidOptionError(`a subscription has at most ${MAX_RULES} rules`)
  }
  return rule
}

/** @throws ERR_INVALID_OPTION, ERR_INVALID_RULE */
export function readRule(rule: RuleOptions, createdMs: number): RuleRecord {
  checkOptions(rule, RULE_RULES)
  const { name, filter, action } = rule
  const problem = problemOfRuleName(name)
  if (problem !== undefined) throw new InvalidOptionError(`name ${problem}`)
  const record: RuleRecord = {
    name,
    filter: readFilter(filter),
    action: action?.sqlExpression,
    actionParameters: action?.parameters && storedWithin(action.parameters, 'action'),
    createdMs,
  }
  checkRule(record)
  return record
}

function readFilter(filter: RuleOptions['filter']): RuleFilter {
  if (filter === undefined) return { kind: 'true' }
  if (filter === false) return { kind: 'false' }
  if ('sqlExpression' in filter) {
    checkOptions({ filter }, { filter: optionGroup(SQL_RULES) })
    const { sqlExpression: expression, parameters } = filter
    if (parameters === undefined) return { kind: 'sql', expression }
    return { kind: 'sql', expression, parameters: storedWithin(parameters, 'filter') }
  }
  checkOptions({ filter }, { filter: optionGroup(CORRELATION_RULES) })
  const { applicationProperties, ...texts } = filter
  if (Object.values(filter).every((value) => value === undefined)) {
    throw new InvalidOptionError('filter must have a property to compare')
  }
  const stored: RuleFilter = {
    kind: 'correlation',
    filter:
      applicationProperties === undefined
        ? texts
        : { ...texts, applicationProperties: toStoredValues(applicationProperties) },
  }
  assertShort(stored.filter, 'filter')
  return stored
}

function storedWithin(
  parameters: NonNullable<SqlRuleFilter['parameters']>,
  part: string,
): NonNullable<SqlText['parameters']> {
  const stored = toStoredValues(parameters)
  assertShort(stored, `${part}.parameters`)
  return stored
}

/** @throws ERR_INVALID_OPTION */
function assertShort(stored: object, part: string): void {
  const { length } = JSON.stringify(stored)
  if (length <= MAX_STORED_CHARACTERS) return
  throw new InvalidOptionError(
    `${part} must have at most ${MAX_STORED_CHARACTERS} characters as JSON, got ${length}`,
  )
}

function rethrow(index: number, read: () => RuleRecord): RuleRecord {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidRuleError) {
      throw new InvalidRuleError(`rules[${index}]: ${error.message}`, { cause: error })
    }
    if (error instanceof InvalidOptionError) {
      throw new InvalidOptionError(`rules[${index}]: ${error.message}`, { cause: error })
    }
    throw error
  }
}
