import type { MessageBroker, SubscriptionName } from '@tidemark/messaging'
import { dateOf } from '../../platform/start-of.ts'
import type { ActionBody } from '../requests/action-body.ts'
import { badRequest } from '../requests/refusal.ts'
import type { DashboardContext } from '../sources/dashboard-context.ts'
import { checkedEntity } from '../sources/queue-view.ts'
import type { Act } from './act.ts'
import { answer, counted } from './group-actions.ts'

const MOST_CHOSEN = 1_000

export const redriveMessages: Act = async (context, body, isDry) => {
  const { broker, entity, path } = await queueOf(context, body)
  const numbers = chosen(body)
  const dead =
    typeof entity === 'string'
      ? await broker.getQueueRuntimeProperties(entity)
      : await broker.getSubscriptionRuntimeProperties(entity)
  const wanted = numbers?.length ?? dead.deadLetterMessageCount
  const moved = isDry
    ? wanted
    : (await broker.redriveDeadLetters(entity, { sequenceNumbers: numbers })).length
  const text =
    `${counted(moved, 'message')} move from the dead-letter queue back to ${path}, each exactly once. ` +
    `There they are new: behind those that wait, without deliveries. What is locked stays.`
  return answer(isDry, text, { messages: moved, missing: wanted - moved })
}

export const schedule: Act = async (context, body, isDry) => {
  const { broker, entity, path } = await queueOf(context, body)
  if (typeof entity !== 'string') throw badRequest('messages go to a queue or a topic')
  const text = body.text('body')
  const atMs = body.optionalNumber('atMs')
  const at = atMs === undefined ? undefined : dateOf(atMs)
  if (atMs !== undefined && at === undefined) throw badRequest('atMs is no time')
  if (!isDry) {
    await using sender = broker.createSender(entity)
    await sender.sendMessages({
      body: bodyOf(text),
      messageId: body.optionalText('messageId'),
      sessionId: body.optionalText('session'),
      scheduledEnqueueTimeUtc: at,
    })
  }
  const when = at === undefined ? 'now' : `at ${at.toISOString()}`
  return answer(
    isDry,
    `A message of ${counted(text.length, 'character')} goes to ${path}, ${when}.`,
    {
      messages: 1,
    },
  )
}

export const cancelScheduled: Act = async (context, body, isDry) => {
  const { broker, entity, path } = await queueOf(context, body)
  const numbers = chosen(body)
  if (numbers === undefined) throw badRequest('numbers is missing')
  if (typeof entity !== 'string') throw badRequest('messages are scheduled in a queue or a topic')
  if (!isDry) {
    await using sender = broker.createSender(entity)
    await sender.cancelScheduledMessages(numbers)
  }
  const text = `${counted(numbers.length, 'scheduled message')} of ${path} are removed and never delivered.`
  return answer(isDry, text, { messages: numbers.length })
}

interface ActedQueue {
  readonly broker: MessageBroker
  readonly entity: string | SubscriptionName
  readonly path: string
}

async function queueOf({ brokers }: DashboardContext, body: ActionBody): Promise<ActedQueue> {
  const path = body.text('entity')
  return { broker: await brokers.of(body.text('database')), entity: checkedEntity(path), path }
}

/** Undefined: all. @throws ERR_BAD_REQUEST */
function chosen(body: ActionBody): readonly number[] | undefined {
  const numbers = body.numbers('numbers')
  if (numbers === undefined || (numbers.length > 0 && numbers.length <= MOST_CHOSEN)) return numbers
  throw badRequest(`numbers must be 1 to ${MOST_CHOSEN} sequence numbers`)
}

function bodyOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return text
  }
}
