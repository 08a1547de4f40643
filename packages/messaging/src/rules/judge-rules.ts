import type { Random } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import {
  actionOf,
  changesSize,
  COPY_BYTES,
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
import { evaluateFilter } from './evaluate.ts'
import { GivenProperties } from './seen-properties.ts'
import { isSameStored, numberIn, textIn, typedText } from './sql-values.ts'
import { EvaluationError, WorkBudget } from './work-budget.ts'

/** What rules see of a message. */
export interface JudgedMessage {
  readonly head: MessageHead
  /** What it counts towards sizes. */
  readonly bytes: number
}

/** Where the rules of subscriptions put a message. Each is judged by a call of its own, so that others can have a turn in between. */
export class RuleJudge {
  readonly #given: GivenProperties
  readonly #bytes: number
  readonly #parsed: ParsedRules

  /** `subscriptions` is how many will be judged, and `messages` how many are stored together. */
  constructor(
    { head, bytes }: JudgedMessage,
    parsed: ParsedRules,
    {
      random,
      ...together
    }: { readonly subscriptions: number; readonly messages: number; readonly random: Random },
  ) {
    this.#given = new GivenProperties(head, new WorkBudget(together), random)
    this.#bytes = bytes
    this.#parsed = parsed
  }

  /** That it took so far. */
  get steps(): number {
    return this.#given.budget.spent
  }

  /**
   * The copies that a subscription gets of the message: one for all matching rules without action, and one for each matching
   * rule with an action, with its name in the property `RuleName` (TOP-03). A filter or action that fails is no match, or one
   * copy goes to the dead-letter queue (TOP-08).
   */
  copiesFor(subscription: EntityRecord): readonly MessageCopy[] {
    const { settings, rules } = subscription
    const given = this.#given
    const { budget } = given
    budget.begin(settings.maxMessageBytes)
    const copies: MessageCopy[] = []
    let isPlain = false
    let failure: string | undefined
    for (const rule of inOrder(rules)) {
      const { name, filter } = rule
      const action = actionOf(rule)
      try {
        budget.spend(1)
        if (!matches(filter, given, this.#parsed)) continue
        if (action === undefined) isPlain = true
        else {
          budget.spend(COPY_STEPS)
          const changes = runAction(this.#parsed.action(action), given)
          const properties = { ...changes.properties, RuleName: name }
          // The first copy would be there without the action, too.
          const added = copies.length === 0 ? 0 : this.#bytes + COPY_BYTES
          const changed = { ...changes, properties }
          copies.push(changedCopy(subscription, { given, bytes: this.#bytes, added }, changed))
        }
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error
        failure ??= `The rule '${name}' could not be evaluated: ${error.message}`
        if (!budget.goesOn()) break
      }
    }
    if (isPlain) copies.unshift(plainCopy(subscription, given))
    if (failure === undefined || !settings.deadLettersFilterErrors) return copies
    const deadLetter = { reason: 'FilterEvaluationException', description: failure }
    return [...copies, { ...plainCopy(subscription, given), deadLetter }]
  }
}

/** Those that cost next to nothing first: no other rule takes a message from them. */
function inOrder(rules: EntityRecord['rules']): EntityRecord['rules'] {
  const isPlain = ({ filter, action }: (typeof rules)[number]): boolean =>
    filter.kind !== 'sql' && action === undefined
  return rules.length < 2
    ? rules
    : [...rules.filter(isPlain), ...rules.filter((rule) => !isPlain(rule))]
}

function plainCopy({ number }: EntityRecord, { head }: GivenProperties): MessageCopy {
  return {
    subscription: number,
    changes: undefined,
    changedBytes: 0,
    session: head.sessionId,
    deadLetter: undefined,
  }
}

/** To make a copy, beside what its action does. */
const COPY_STEPS = 250

interface Changed {
  readonly given: GivenProperties
  /** Of the message. */
  readonly bytes: number
  /** What the copy adds beside its changes. */
  readonly added: number
}

/** @throws EvaluationError when it is larger than the subscription takes (SET-20), or those of the message are together */
function changedCopy(
  { number, settings: { maxMessageBytes } }: EntityRecord,
  { given: { head, budget }, bytes, added }: Changed,
  changes: MessageChanges,
): MessageCopy {
  // An action may set many properties to one long value: that is not written out to find it too long.
  const least = Object.values({ ...changes.properties, ...changes.system }).reduce<number>(
    (sum, value) => sum + leastCharacters(value),
    0,
  )
  assertFits(bytes + least, maxMessageBytes)
  budget.add(added + least)
  // To write a text takes longer than to compare it.
  budget.spendOn(least * 8)
  const changedBytes = changesSize(changes)
  assertFits(bytes + changedBytes, maxMessageBytes)
  budget.add(Math.max(0, changedBytes - least))
  const session = changes.system?.sessionId
  return {
    subscription: number,
    changes,
    changedBytes,
    session: session === undefined ? head.sessionId : (session ?? undefined),
    deadLetter: undefined,
  }
}

/** @throws EvaluationError */
function assertFits(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes) throw new EvaluationError(`the copy has more than ${maxBytes} bytes`)
}

/** Its text in JSON has more of them. */
function leastCharacters(value: StoredValue | undefined): number {
  return typeof value === 'string'
    ? value.length
    : typeof value === 'object'
      ? typedText(value).text.length
      : 0
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
      return evaluateFilter(parsed.filter(filter), given)
    default:
      return assertNever(filter)
  }
}

/** Joined by AND. Values are exact and case-sensitive, names of properties are not (TOP-04). */
function correlates(filter: CorrelationFilter, given: GivenProperties): boolean {
  const { head, budget } = given
  const { applicationProperties = {}, ...system } = filter
  const wanted = Object.entries(applicationProperties)
  budget.spend(1 + wanted.length)
  for (const [name, value] of Object.entries(system)) {
    if (value !== undefined && Reflect.get(head, name) !== value) return false
  }
  return wanted.every(([name, value]) => {
    const present = given.presentName(name)
    return present !== undefined && isSame(value, given.value(present), budget)
  })
}

/** Numbers and texts are compared by their value, whatever their type; everything else must have the same type. */
function isSame(
  wanted: StoredValue | undefined,
  found: StoredValue | undefined,
  budget: WorkBudget,
): boolean {
  if (wanted === found) return true
  const [a, b] = [numberText(wanted), numberText(found)]
  if (a !== undefined && b !== undefined) return a === b
  const text = textIn(wanted)
  if (text !== undefined) return text === textIn(found)
  if (typeof wanted !== 'object' || typeof found !== 'object') return false
  return isSameStored(wanted, found, budget)
}

function numberText(value: StoredValue | undefined): string | undefined {
  const number = typeof value === 'object' && value !== null ? numberIn(value) : value
  if (typeof number === 'bigint') return String(number)
  if (typeof number !== 'number') return undefined
  return Number.isInteger(number) ? String(BigInt(number)) : String(number)
}
