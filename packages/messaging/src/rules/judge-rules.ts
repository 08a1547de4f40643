import { assertNever } from '@tidemark/contracts'
import type {
  CorrelationFilter,
  EntityRecord,
  MessageChanges,
  MessageCopy,
  RuleFilter,
  StoredValue,
} from '@tidemark/store/messages'
import { changedHead, type MessageHead } from '../messages/message-codec.ts'
import type { ParsedRules } from './parsed-rules.ts'
import { runAction } from './run-action.ts'
import { EvaluationError, evaluateFilter, type Evaluation } from './evaluate.ts'
import { MAX_STEPS } from './like.ts'

/** What rules see of a message. */
export interface JudgedMessage {
  readonly head: MessageHead
}

/**
 * The copies that a subscription gets of a message: one for all matching rules without action, and one for each matching
 * rule with an action, with its name in the property `RuleName` (TOP-03). A filter or action that fails is no match, or one
 * copy goes to the dead-letter queue (TOP-08).
 */
export function judgeRules(
  subscription: EntityRecord,
  message: JudgedMessage,
  parsed: ParsedRules,
): readonly MessageCopy[] {
  const copies: MessageCopy[] = []
  let isPlain = false
  let failure: string | undefined
  const evaluation = { head: message.head, budget: { steps: MAX_STEPS } }
  for (const { name, filter, action } of subscription.rules) {
    try {
      if (!matches(filter, evaluation, parsed)) continue
      if (action === undefined) isPlain = true
      else {
        const changes = runAction(parsed.action(action), evaluation)
        const properties = { ...changes.properties, RuleName: name }
        copies.push(changedCopy(subscription, message, { ...changes, properties }))
      }
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      failure ??= `The rule '${name}' could not be evaluated: ${error.message}`
    }
  }
  if (isPlain) copies.unshift(plainCopy(subscription, message))
  if (failure === undefined || !subscription.settings.deadLettersFilterErrors) return copies
  const deadLetter = { reason: 'FilterEvaluationException', description: failure }
  return [...copies, { ...plainCopy(subscription, message), deadLetter }]
}

function plainCopy({ number }: EntityRecord, { head }: JudgedMessage): MessageCopy {
  return {
    subscription: number,
    changes: undefined,
    session: head.sessionId,
    deadLetter: undefined,
  }
}

function changedCopy(
  { number }: EntityRecord,
  { head }: JudgedMessage,
  changes: MessageChanges,
): MessageCopy {
  const { sessionId: session } = changedHead(head, changes)
  return { subscription: number, changes, session, deadLetter: undefined }
}

function matches(filter: RuleFilter, evaluation: Evaluation, parsed: ParsedRules): boolean {
  switch (filter.kind) {
    case 'true':
      return true
    case 'false':
      return false
    case 'correlation':
      return correlates(filter.filter, evaluation.head)
    case 'sql':
      return evaluateFilter(parsed.filter(filter.expression), evaluation)
    default:
      return assertNever(filter)
  }
}

/** Exact and case-sensitive, joined by AND (TOP-04). */
function correlates(filter: CorrelationFilter, head: MessageHead): boolean {
  const { applicationProperties = {}, ...system } = filter
  for (const [name, value] of Object.entries(system)) {
    if (value !== undefined && Reflect.get(head, name) !== value) return false
  }
  const found = head.properties ?? {}
  return Object.entries(applicationProperties).every(
    ([name, value]) => Object.hasOwn(found, name) && isSame(value, found[name]),
  )
}

/** Numbers are compared by their value, whatever their type; everything else must have the same type. */
function isSame(wanted: StoredValue | undefined, found: StoredValue | undefined): boolean {
  if (wanted === found) return true
  const [a, b] = [numberText(wanted), numberText(found)]
  if (a !== undefined && b !== undefined) return a === b
  return JSON.stringify(wanted) === JSON.stringify(found)
}

function numberText(value: StoredValue | undefined): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(BigInt(value)) : String(value)
  if (typeof value !== 'object' || value === null) return undefined
  const { long } = value
  return typeof long === 'string' ? long : undefined
}
