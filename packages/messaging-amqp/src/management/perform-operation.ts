import type { AccessRight } from '@tidemark/messaging/front'
import { errorOnWire, isOurs } from '../errors/error-on-wire.ts'
import { notOffered } from '../errors/not-offered.ts'
import { deleteMessages } from './batch-delete.ts'
import { receiveBySequenceNumber } from './deferred.ts'
import { updateDisposition } from './disposition.ts'
import { renewLocks } from './locks.ts'
import type {
  ManagementAnswer,
  ManagementContext,
  ManagementRequest,
  PerformCall,
} from './management-call.ts'
import { peekMessages } from './peek.ts'
import { RequestFields } from './request-fields.ts'
import { addRule, listRules, removeRule } from './rules.ts'
import { cancelScheduledMessages, scheduleMessages } from './scheduling.ts'
import { getSessionState, listSessions, renewSessionLock, setSessionState } from './sessions.ts'
import { statusCode } from './status-codes.ts'

interface Operation {
  readonly right: AccessRight
  readonly perform: PerformCall
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['com.microsoft:peek-message', { right: 'Listen', perform: peekMessages }],
  ['com.microsoft:renew-lock', { right: 'Listen', perform: renewLocks }],
  [
    'com.microsoft:receive-by-sequence-number',
    { right: 'Listen', perform: receiveBySequenceNumber },
  ],
  ['com.microsoft:batch-delete-messages', { right: 'Listen', perform: deleteMessages }],
  ['com.microsoft:update-disposition', { right: 'Listen', perform: updateDisposition }],
  ['com.microsoft:schedule-message', { right: 'Send', perform: scheduleMessages }],
  ['com.microsoft:cancel-scheduled-message', { right: 'Send', perform: cancelScheduledMessages }],
  ['com.microsoft:renew-session-lock', { right: 'Listen', perform: renewSessionLock }],
  ['com.microsoft:set-session-state', { right: 'Listen', perform: setSessionState }],
  ['com.microsoft:get-session-state', { right: 'Listen', perform: getSessionState }],
  ['com.microsoft:get-message-sessions', { right: 'Listen', perform: listSessions }],
  ['com.microsoft:add-rule', { right: 'Listen', perform: addRule }],
  ['com.microsoft:remove-rule', { right: 'Listen', perform: removeRule }],
  ['com.microsoft:enumerate-rules', { right: 'Listen', perform: listRules }],
])

/** These find nothing in a transfer dead-letter queue. */
const OF_NOTHING: ReadonlySet<string> = new Set([
  'com.microsoft:batch-delete-messages',
  'com.microsoft:get-message-sessions',
  'com.microsoft:peek-message',
])

/** Performs an operation that was sent to a `$management` node. Never rejects: an error is an answer. */
export async function performOperation(
  { operation: name, linkName, body }: ManagementRequest,
  context: ManagementContext,
): Promise<ManagementAnswer> {
  try {
    const { right, perform } =
      OPERATIONS.get(name) ?? notOffered('other operations of management', JSON.stringify(name))
    context.assertRight(right)
    if (context.isEmpty && !OF_NOTHING.has(name)) {
      notOffered('operations on a transfer dead-letter queue', JSON.stringify(name))
    }
    const answer = context.isEmpty
      ? undefined
      : await perform({ fields: new RequestFields(body), linkName, context })
    return answer === undefined
      ? { statusCode: 204, statusDescription: 'No Content', errorCondition: undefined, body: {} }
      : { statusCode: 200, statusDescription: 'OK', errorCondition: undefined, body: answer }
  } catch (error) {
    if (isOurs(error)) context.reportFailure(error)
    const { condition, description } = errorOnWire(error)
    return {
      statusCode: statusCode(condition),
      statusDescription: description,
      errorCondition: condition,
      body: {},
    }
  }
}
