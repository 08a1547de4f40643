import { assertNever } from '@tidemark/contracts/internal'
import {
  changesSize,
  type CorrelationFilter,
  type EntityRecord,
  type MessageChanges,
  type MessageCopy,
  type RuleFilter,
  type StoredValue,
} from '@tidemark/store/messages'
import type { MessageHead } from '../messages/message-codec.ts'
import type { ParsedRules } from './parsed-rules.ts'
import { runAction } from './run-action.ts'
import { evaluateFilter, isSameStored } from './evaluate.ts'
import { GivenProperties } from './seen-properties.ts'
import { EvaluationError, WorkBudget } from './work-budget.ts'

/** What rules see of a message. */
export interface JudgedMessage {
  readonly head: MessageHead
  /** What it counts towards sizes. */
  readonly bytes: number
}

/** Where the rules of these subscriptions put a message, and the steps that it took. */
export function judgeRules(
  subscriptions: readonly EntityRecord[],
  message: JudgedMessage,
  parsed: ParsedRules,
): { readonly copies: readonly MessageCopy[]; readonly steps: number } {
  const budget = new WorkBudget()
  const given = new GivenProperties(message.head, budget)
  const copies = subscriptions.flatMap((subscription) => {
    budget.begin()
    return copiesFor(subscription, { given, bytes: message.bytes }, parsed)
  })
  return { copies, steps: budget.spent }
}

interface Given {
  readonly given: GivenProperties
  readonly bytes: number
}

/**
 * The copies that a subscription gets of a message: one for all matching rules without action, and one for each matching
 * rule with an action, with its name in the property `RuleName` (TOP-03). A filter or action that fails is no match, or one
 * copy goes to the dead-letter queue (TOP-08).
 */
function copiesFor(
  subscription: EntityRecord,
  { given, bytes }: Given,
  parsed: ParsedRules,
): readonly MessageCopy[] {
  const copies: MessageCopy[] = []
  let isPlain = false
  let failure: string | undefined
  for (const { name, filter, action } of subscription.rules) {
    try {
      if (!matches(filter, given, parsed)) continue
      if (action === undefined) isPlain = true
      else {
        const changes = runAction(parsed.action(action), given)
        const properties = { ...changes.properties, RuleName: name }
        copies.push(changedCopy(subscription, { given, bytes }, { ...changes, properties }))
      }
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      failure ??= `The rule '${name}' could not be evaluated: ${error.message}`
    }
  }
  if (isPlain) copies.unshift(plainCopy(subscription, given))
  if (failure === undefined || !subscription.settings.deadLettersFilterErrors) return copies
  const deadLetter = { reason: 'FilterEvaluationException', description: failure }
  return [...copies, { ...plainCopy(subscription, given), deadLetter }]
}

function plainCopy({ number }: EntityRecord, { head }: GivenProperties): MessageCopy {
  return {
    subscription: number,
    changes: undefined,
    session: head.sessionId,
    deadLetter: undefined,
  }
}

/** @throws EvaluationError when it is larger than the subscription takes (SET-20) */
function changedCopy(
  { number, settings }: EntityRecord,
  { given: { head, budget }, bytes }: Given,
  changes: MessageChanges,
): MessageCopy {
  const { maxMessageBytes } = settings
  // An action may set many properties to one long text: that is not written out to find it too long.
  const least = Object.values({ ...changes.properties, ...changes.system }).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : 0),
    bytes,
  )
  const size = least > maxMessageBytes ? least : changesSize(changes)
  if (bytes + size > maxMessageBytes) {
    throw new EvaluationError(`the copy has more than ${maxMessageBytes} bytes`)
  }
  budget.spendOn(size)
  const session = changes.system?.sessionId
  return {
    subscription: number,
    changes,
    session: session === undefined ? head.sessionId : (session ?? undefined),
    deadLetter: undefined,
  }
}

function matches(filter: RuleFilter, given: GivenProperties, parsed: ParsedRules): boolean {
  switch (filter.kind) {
    case 'true':
      return true
    case 'false':
      return false
    case 'correlation':
      return correlates(filter.filter, given)
    case 'sql':
      return evaluateFilter(parsed.filter(filter.expression), given)
    default:
      return assertNever(filter)
  }
}

/** Exact and case-sensitive, joined by AND (TOP-04). */
function correlates(filter: CorrelationFilter, { head, budget }: GivenProperties): boolean {
  const { applicationProperties = {}, ...system } = filter
  for (const [name, value] of Object.entries(system)) {
    if (value !== undefined && Reflect.get(head, name) !== value) return false
  }
  const found = head.properties ?? {}
  return Object.entries(applicationProperties).every(
    ([name, value]) => Object.hasOwn(found, name) && isSame(value, found[name], budget),
  )
}

/** Numbers are compared by their value, whatever their type; everything else must have the same type. */
function isSame(
  wanted: StoredValue | undefined,
  found: StoredValue | undefined,
  budget: WorkBudget,
): boolean {
  if (wanted === found) return true
  const [a, b] = [numberText(wanted), numberText(found)]
  if (a !== undefined && b !== undefined) return a === b
  if (typeof wanted !== 'object' || typeof found !== 'object') return false
  return isSameStored(wanted, found, budget)
}

function numberText(value: StoredValue | undefined): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(BigInt(value)) : String(value)
  if (typeof value !== 'object' || value === null) return undefined
  const { long } = value
  return typeof long === 'string' ? long : undefined
}
