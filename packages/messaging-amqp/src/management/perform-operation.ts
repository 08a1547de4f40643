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
  /** In a transaction: `gathered` until that is committed; `atOnce`, as if there were none, because it changes nothing to take back. */
  readonly transacted?: 'gathered' | 'atOnce'
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['com.microsoft:peek-message', { right: 'Listen', perform: peekMessages, transacted: 'atOnce' }],
  ['com.microsoft:renew-lock', { right: 'Listen', perform: renewLocks, transacted: 'atOnce' }],
  [
    'com.microsoft:receive-by-sequence-number',
    { right: 'Listen', perform: receiveBySequenceNumber, transacted: 'atOnce' },
  ],
  [
    'com.microsoft:update-disposition',
    { right: 'Listen', perform: updateDisposition, transacted: 'gathered' },
  ],
  [
    'com.microsoft:schedule-message',
    { right: 'Send', perform: scheduleMessages, transacted: 'gathered' },
  ],
  [
    'com.microsoft:cancel-scheduled-message',
    { right: 'Send', perform: cancelScheduledMessages, transacted: 'gathered' },
  ],
  [
    'com.microsoft:renew-session-lock',
    { right: 'Listen', perform: renewSessionLock, transacted: 'atOnce' },
  ],
  [
    'com.microsoft:set-session-state',
    { right: 'Listen', perform: setSessionState, transacted: 'gathered' },
  ],
  [
    'com.microsoft:get-session-state',
    { right: 'Listen', perform: getSessionState, transacted: 'atOnce' },
  ],
  [
    'com.microsoft:get-message-sessions',
    { right: 'Listen', perform: listSessions, transacted: 'atOnce' },
  ],
  ['com.microsoft:batch-delete-messages', { right: 'Listen', perform: deleteMessages }],
  ['com.microsoft:add-rule', { right: 'Listen', perform: addRule }],
  ['com.microsoft:remove-rule', { right: 'Listen', perform: removeRule }],
  ['com.microsoft:enumerate-rules', { right: 'Listen', perform: listRules, transacted: 'atOnce' }],
])

/** These find nothing in a transfer dead-letter queue. */
const OF_NOTHING: ReadonlySet<string> = new Set([
  'com.microsoft:batch-delete-messages',
  'com.microsoft:get-message-sessions',
  'com.microsoft:peek-message',
])

/** Performs an operation that was sent to a `$management` node. Never rejects: an error is an answer. */
export async function performOperation(
  request: ManagementRequest,
  context: ManagementContext,
): Promise<ManagementAnswer> {
  try {
    const answer = await perform(request, context)
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

async function perform(
  { operation: name, linkName, body, transaction: find }: ManagementRequest,
  context: ManagementContext,
): Promise<object | undefined> {
  const named = JSON.stringify(name)
  const operation = OPERATIONS.get(name) ?? notOffered('other operations of management', named)
  const transaction = find?.()
  try {
    context.assertRight(operation.right)
    if (transaction !== undefined && operation.transacted === undefined)
      notOffered('this operation in a transaction', named)
    if (context.isEmpty) {
      if (!OF_NOTHING.has(name)) notOffered('operations on a transfer dead-letter queue', named)
      return undefined
    }
    const fields = new RequestFields(body)
    return await operation.perform({ fields, linkName, context, transaction })
  } catch (error) {
    if (operation.transacted !== 'atOnce') transaction?.fail(error)
    throw error
  }
}
