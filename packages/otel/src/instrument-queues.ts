import type { MessageBroker, QueueRuntimeProperties } from '@tidemark/messaging'
import { errorCode, systemClock } from '@tidemark/contracts'
import { checkOptions, optionWhole } from '@tidemark/contracts/internal'
import { ATTRIBUTE, OWN } from './attributes.ts'
import { meterOf, observing, readingRules, shared, type ReadingOptions } from './instruments.ts'

export interface QueueReadingOptions extends ReadingOptions {
  /** At most this many queues and subscriptions are read, each with five series. @range 1 or more @default 300 */
  readonly maxEntities?: number | undefined
}

/** What is needed of a `MessageBroker`. */
export type InstrumentedBroker = Pick<
  MessageBroker,
  | 'listQueues'
  | 'listTopics'
  | 'listSubscriptions'
  | 'getQueueRuntimeProperties'
  | 'getSubscriptionRuntimeProperties'
>

interface Entity {
  readonly destination: string
  readonly subscription?: string | undefined
}

interface MeasuredEntity extends Entity {
  readonly counts: Omit<QueueRuntimeProperties, 'name'>
}

/**
 * Reads the counts of queues and subscriptions when metrics are collected, at most every 5 s, until it is disposed.
 *
 * @throws ERR_INVALID_OPTION
 */
export function instrumentQueues(
  broker: InstrumentedBroker,
  options: QueueReadingOptions = {},
): Disposable {
  checkOptions(options, { ...readingRules, maxEntities: optionWhole(1) })
  const { maxEntities = 300, clock = systemClock } = options
  const entities = shared(() => measureEntities(broker, maxEntities), options)
  return observing(meterOf(options), {
    gauges: ['tidemark.queue.messages', 'tidemark.queue.size', 'tidemark.queue.oldest_message.age'],
    observe: async (observe) => {
      const nowMs = clock.wallMs()
      for (const { destination, subscription, counts } of await entities.get()) {
        const about = {
          [ATTRIBUTE.destination]: destination,
          ...(subscription !== undefined && { [ATTRIBUTE.subscription]: subscription }),
        }
        for (const [state, count] of Object.entries(statesOf(counts))) {
          observe('tidemark.queue.messages', count, { ...about, [OWN.messageState]: state })
        }
        observe('tidemark.queue.size', counts.sizeInBytes, about)
        const oldestMs = counts.oldestEnqueuedTimeUtc?.getTime() ?? nowMs
        observe('tidemark.queue.oldest_message.age', Math.max(0, nowMs - oldestMs) / 1000, about)
      }
    },
  })
}

/** No message has two of them, so that they add up. */
function statesOf(counts: MeasuredEntity['counts']): Readonly<Record<string, number>> {
  return {
    ready: counts.activeMessageCount - counts.lockedMessageCount,
    locked: counts.lockedMessageCount,
    scheduled: counts.scheduledMessageCount,
    deferred: counts.deferredMessageCount,
    deadLetter: counts.deadLetterMessageCount,
  }
}

async function measureEntities(
  broker: InstrumentedBroker,
  maxEntities: number,
): Promise<MeasuredEntity[]> {
  const measured: MeasuredEntity[] = []
  for await (const entity of listEntities(broker)) {
    if (measured.length === maxEntities) break
    const counts = await countsOf(broker, entity)
    if (counts !== undefined) measured.push({ ...entity, counts })
  }
  return measured
}

async function* listEntities(broker: InstrumentedBroker): AsyncGenerator<Entity> {
  for (const { name } of await broker.listQueues()) yield { destination: name }
  for (const { name } of await broker.listTopics()) {
    for (const { subscriptionName } of await broker.listSubscriptions(name)) {
      yield { destination: name, subscription: subscriptionName }
    }
  }
}

/** Undefined: it was deleted meanwhile. */
async function countsOf(
  broker: InstrumentedBroker,
  { destination, subscription }: Entity,
): Promise<MeasuredEntity['counts'] | undefined> {
  try {
    return subscription === undefined
      ? await broker.getQueueRuntimeProperties(destination)
      : await broker.getSubscriptionRuntimeProperties({ topic: destination, subscription })
  } catch (error) {
    if (errorCode(error) === 'ERR_MESSAGING_ENTITY_NOT_FOUND') return undefined
    throw error
  }
}
