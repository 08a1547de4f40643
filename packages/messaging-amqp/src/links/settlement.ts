import type { Outcome, StoredValue } from '@tidemark/messaging/front'
import type { RheaState } from '../rhea/rhea-internals.ts'
import { textOf } from '../values/read-values.ts'
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
  const reason = takenText(properties, REASON) ?? (isOwn ? unwrappedText(condition) : undefined)
  const text =
    takenText(properties, DESCRIPTION) ?? (isOwn ? unwrappedText(description) : undefined)
  return {
    kind: 'deadLetter',
    changes: { properties: Object.fromEntries(properties) },
    reason,
    description: text,
  }
}

/** What is no text stays among the properties. */
function takenText(properties: Map<string, StoredValue>, name: string): string | undefined {
  const value = properties.get(name)
  const text = textOf(value)
  if (value === null || text !== undefined) properties.delete(name)
  return text
}

function unwrappedText(value: RheaState['value'][number] | undefined): string | undefined {
  const text = unwrapped(value)
  return typeof text === 'string' ? text : undefined
}
