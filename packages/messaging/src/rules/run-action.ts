import type { MessageChanges, StoredValue, SystemProperty } from '@tidemark/store/messages'
import { messageIdRule, sessionIdRule } from '../messages/message-id.ts'
import { checked64, evaluate } from './evaluate.ts'
import type { ActionStep, SqlValue } from './expression.ts'
import { ChangedProperties, type GivenProperties } from './seen-properties.ts'
import { EvaluationError } from './work-budget.ts'

const LONG_LIMIT = 2n ** 63n

/** Of the budget, for one of the action, beside its expression. */
const STEPS = 20

/** What an action changes in a message (TOP-06). Each step sees what those before it did. @throws EvaluationError */
export function runAction(steps: readonly ActionStep[], given: GivenProperties): MessageChanges {
  const seen = new ChangedProperties(given)
  for (const { property, ...step } of steps) {
    given.budget.spend(STEPS)
    const value = step.kind === 'remove' ? undefined : evaluate(step.value, seen)
    if (property.kind === 'system') {
      seen.setSystem(property.name, value === undefined ? null : systemText(property.name, value))
    } else seen.set(property.name, value === undefined ? undefined : storedOf(value))
  }
  return seen.changes()
}

/** As senders may give them. */
const ID_RULES: ReadonlyMap<SystemProperty, typeof messageIdRule> = new Map([
  ['messageId', messageIdRule],
  ['replyToSessionId', messageIdRule],
  ['sessionId', sessionIdRule],
])

function systemText(name: SystemProperty, value: SqlValue): string | null {
  if (value === null) return null
  if (typeof value === 'boolean' || typeof value === 'object') {
    throw new EvaluationError(`sys.${name} must be a text`)
  }
  const text = String(value)
  const rule = ID_RULES.get(name)
  if (rule?.accepts(text) === false) {
    throw new EvaluationError(`sys.${name} must be ${rule.expected}`)
  }
  return text
}

function storedOf(value: SqlValue): StoredValue {
  if (typeof value === 'bigint') {
    // Of a sender: no calculation is unsigned.
    const isUnsigned = value >= LONG_LIMIT && value < 2n * LONG_LIMIT
    return isUnsigned ? { ulong: String(value) } : { long: String(checked64(value)) }
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return { double: String(value) }
  return typeof value === 'object' && value !== null ? value.other : value
}
