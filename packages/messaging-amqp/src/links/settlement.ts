import { encodeChanges, type Outcome } from '@tidemark/messaging/front'
import { propertyValues } from '../values/property-values.ts'

type State = Readonly<Record<string, unknown>> | undefined

const REASON = 'DeadLetterReason'
const DESCRIPTION = 'DeadLetterErrorDescription'
const PROPERTIES = 'properties to modify'
const DEAD_LETTER = 'com.microsoft:dead-letter'

/** What a client's `modified` asks for. @throws ERR_INVALID_OPTION */
export function modifiedOutcome(state: State): Outcome {
  const annotations = state?.['message_annotations']
  const changes = encodeChanges(
    isObject(annotations) ? propertyValues(annotations, PROPERTIES) : undefined,
  )
  return { kind: state?.['undeliverable_here'] === true ? 'defer' : 'abandon', changes }
}

/** What a client's `rejected` asks for: reason and description stand in the error's map. @throws ERR_INVALID_OPTION */
export function rejectedOutcome(state: State): Outcome {
  const error = state?.['error']
  if (!isObject(error)) {
    return { kind: 'deadLetter', changes: undefined, reason: undefined, description: undefined }
  }
  const { condition, description } = error
  // Another client's own error is the reason.
  const isOwn = condition !== DEAD_LETTER
  const {
    [REASON]: reason,
    [DESCRIPTION]: text,
    ...properties
  } = isObject(error['info']) ? error['info'] : {}
  return {
    kind: 'deadLetter',
    changes: encodeChanges(propertyValues(properties, PROPERTIES)),
    reason: textOf(reason) ?? (isOwn ? textOf(condition) : undefined),
    description: textOf(text) ?? (isOwn ? textOf(description) : undefined),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
