import type { MessageChanges, StoredValue, SystemProperty } from '@tidemark/store/messages'
import { messageIdRule, sessionIdRule } from '../messages/message-id.ts'
import { evaluate } from './evaluate.ts'
import type { ActionStep, Expression, SqlValue } from './expression.ts'
import { ChangedProperties, type GivenProperties, type SeenProperties } from './seen-properties.ts'
import { storedOf } from './sql-values.ts'
import { EvaluationError } from './work-budget.ts'

/** Of the budget, for one of the action, beside its expression. */
const STEPS = 20

/** What an action changes in a message (TOP-06). Each step sees what those before it did. @throws EvaluationError */
export function runAction(steps: readonly ActionStep[], given: GivenProperties): MessageChanges {
  const seen = new ChangedProperties(given)
  for (const { property, ...step } of steps) {
    given.budget.spend(STEPS)
    if (property.kind === 'system') {
      const text =
        step.kind === 'remove' ? null : systemText(property.name, evaluate(step.value, seen))
      seen.setSystem(property.name, text)
    } else seen.set(property.name, step.kind === 'remove' ? undefined : valueOf(step.value, seen))
  }
  return seen.changes()
}

/** What is copied from a property keeps its type. */
function valueOf(expression: Expression, seen: SeenProperties): StoredValue {
  const value = evaluate(expression, seen)
  if (expression.kind !== 'property' || expression.property.kind !== 'user') return storedOf(value)
  const present = seen.presentName(expression.property.name)
  return (present === undefined ? undefined : seen.value(present)) ?? null
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
