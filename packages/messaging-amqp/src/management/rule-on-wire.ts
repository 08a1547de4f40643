import { assertNever } from '@tidemark/contracts/internal'
import type { RuleRecord } from '@tidemark/messaging/front'
import { describedList, properties, timestamp, type WireValue } from './wire-values.ts'

const RULE = 0x13700000004
const EMPTY_ACTION = 0x13700000005
const SQL_ACTION = 0x13700000006
const SQL_FILTER = 0x1370000006
const TRUE_FILTER = 0x1370000007
const FALSE_FILTER = 0x1370000008
const CORRELATION_FILTER = 0x1370000009

/** A rule as clients get it. */
export function describedRule({ name, filter, action, createdMs }: RuleRecord): WireValue {
  return describedList(RULE, [
    describedFilter(filter),
    action === undefined ? describedList(EMPTY_ACTION, []) : describedList(SQL_ACTION, [action]),
    name,
    timestamp(createdMs),
  ])
}

function describedFilter(filter: RuleRecord['filter']): WireValue {
  switch (filter.kind) {
    case 'true':
      return describedList(TRUE_FILTER, [])
    case 'false':
      return describedList(FALSE_FILTER, [])
    case 'sql':
      return describedList(SQL_FILTER, [filter.expression])
    case 'correlation': {
      const { applicationProperties = {}, ...texts } = filter.filter
      return describedList(CORRELATION_FILTER, [
        texts.correlationId,
        texts.messageId,
        texts.to,
        texts.replyTo,
        texts.subject,
        texts.sessionId,
        texts.replyToSessionId,
        texts.contentType,
        // Never null, even if there are none: the official client stumbles over it.
        properties(applicationProperties),
      ])
    }
    default:
      return assertNever(filter)
  }
}
