import type { MessageChanges, StoredValue, SystemProperty } from '@tidemark/store/messages'
import { changedHead } from '../messages/message-codec.ts'
import { messageIdRule, sessionIdRule } from '../messages/message-id.ts'
import { checked64, evaluate, EvaluationError, presentName, type Evaluation } from './evaluate.ts'
import type { ActionStep, SqlValue } from './expression.ts'

/** What an action changes in a message (TOP-06). Each step sees what those before it did. @throws EvaluationError */
export function runAction(
  steps: readonly ActionStep[],
  { head, budget }: Evaluation,
): MessageChanges {
  const properties = new Map<string, StoredValue>()
  const removed = new Set<string>()
  const system = new Map<SystemProperty, string | null>()
  const changes = (): MessageChanges => ({
    properties: Object.fromEntries(properties),
    removed: [...removed],
    system: Object.fromEntries(system),
  })
  for (const step of steps) {
    const { property } = step
    const seen = changedHead(head, changes())
    const value = step.kind === 'remove' ? undefined : evaluate(step.value, { head: seen, budget })
    if (property.kind === 'system') {
      system.set(property.name, value === undefined ? null : systemText(property.name, value))
      continue
    }
    const name = presentName(property.name, seen) ?? property.name
    if (value === undefined) {
      properties.delete(name)
      removed.add(name)
    } else {
      removed.delete(name)
      properties.set(name, storedOf(value))
    }
  }
  return changes()
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
  if (typeof value === 'bigint') return { long: String(checked64(value)) }
  if (typeof value === 'number' && !Number.isFinite(value)) return { double: String(value) }
  return typeof value === 'object' && value !== null ? value.other : value
}
