import { encodeChanges, type Outcome } from '@tidemark/messaging/front'
import type { PropertyValue } from '@tidemark/messaging'

type State = Readonly<Record<string, unknown>> | undefined

const REASON = 'DeadLetterReason'
const DESCRIPTION = 'DeadLetterErrorDescription'
const DEAD_LETTER = 'com.microsoft:dead-letter'

/** What a client's `modified` asks for. @throws ERR_INVALID_OPTION */
export function modifiedOutcome(state: State): Outcome {
  const annotations = state?.['message_annotations']
  const changes = encodeChanges(isObject(annotations) ? propertiesOf(annotations) : undefined)
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
    changes: encodeChanges(propertiesOf(properties)),
    reason: textOf(reason) ?? (isOwn ? textOf(condition) : undefined),
    description: textOf(text) ?? (isOwn ? textOf(description) : undefined),
  }
}

/** What is no property is refused where it is encoded. */
function propertiesOf(
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, PropertyValue>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `encodeChanges` checks each value.
  return values as Readonly<Record<string, PropertyValue>>
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
