import type { Outcome, StoredValue } from '@tidemark/messaging/front'
import type { RheaState } from '../rhea/rhea-internals.ts'
import { typedProperties, unwrapped } from '../values/typed-values.ts'

const REASON = 'DeadLetterReason'
const DESCRIPTION = 'DeadLetterErrorDescription'
const PROPERTIES = 'properties to modify'
const DEAD_LETTER = 'com.microsoft:dead-letter'

/** What a client's `modified` asks for. @throws ERR_INVALID_OPTION */
export function modifiedOutcome(state: RheaState): Outcome {
  const [, undeliverableHere, annotations] = state.value
  const properties = typedProperties(annotations, PROPERTIES)
  return {
    kind: unwrapped(undeliverableHere) === true ? 'defer' : 'abandon',
    changes: properties && { properties },
  }
}

/** What a client's `rejected` asks for: reason and description stand in the error's map. @throws ERR_INVALID_OPTION */
export function rejectedOutcome(state: RheaState): Outcome {
  const [error] = state.value
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The guard has seen that it is an error: a list, or null.
  const [condition, description, info] = (error?.value ?? []) as RheaState['value']
  const properties = new Map(Object.entries(typedProperties(info, PROPERTIES) ?? {}))
  // Another client's own error is the reason.
  const isOwn = unwrapped(condition) !== DEAD_LETTER
  const reason = takenText(properties, REASON) ?? (isOwn ? unwrapped(condition) : undefined)
  const text = takenText(properties, DESCRIPTION) ?? (isOwn ? unwrapped(description) : undefined)
  return {
    kind: 'deadLetter',
    changes: { properties: Object.fromEntries(properties) },
    reason: textOf(reason),
    description: textOf(text),
  }
}

/** What is no text stays among the properties. */
function takenText(properties: Map<string, StoredValue>, name: string): string | undefined {
  const value = properties.get(name)
  if (value === null || typeof value === 'string') properties.delete(name)
  return textOf(value)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
