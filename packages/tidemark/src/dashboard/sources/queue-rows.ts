import { errorCode } from '@tidemark/contracts'
import type {
  MessageBroker,
  QueueProperties,
  QueueRuntimeProperties,
  RuntimeProperties,
  SubscriptionProperties,
  SubscriptionRuntimeProperties,
  TopicProperties,
} from '@tidemark/messaging'
import type { QueueHead, QueueRow } from '../views.ts'

/** What a row and the head of a view have in common. */
export interface ShownEntity {
  readonly head: QueueHead
  readonly row: QueueRow
}

type Receiving = (QueueProperties & QueueRuntimeProperties) | SubscriptionProperties

/** All queues, topics and subscriptions of a database, up to `most`. */
export async function entityRows(
  broker: MessageBroker,
  { database, most }: { readonly database: string; readonly most: number },
): Promise<readonly QueueRow[]> {
  const rows: QueueRow[] = []
  const add = async (read: () => Promise<ShownEntity>): Promise<void> => {
    if (rows.length >= most) return
    try {
      rows.push((await read()).row)
    } catch (error) {
      // Deleted since it was listed.
      if (errorCode(error) !== 'ERR_MESSAGING_ENTITY_NOT_FOUND') throw error
    }
  }
  for (const queue of await broker.listQueues())
    await add(() => shownQueue(broker, database, queue))
  for (const topic of await broker.listTopics()) {
    await add(() => shownTopic(broker, database, topic))
    for (const one of await broker.listSubscriptions(topic.name)) {
      await add(() => shownSubscription(broker, database, one))
    }
  }
  return rows
}

export async function shownQueue(
  broker: MessageBroker,
  database: string,
  queue: QueueProperties,
): Promise<ShownEntity> {
  const counts = await broker.getQueueRuntimeProperties(queue.name)
  const place = { database, entity: queue.name, kind: 'queue' } as const
  return shown({ ...place, ...countsOf(counts), ...settingsOf(queue) })
}

export async function shownSubscription(
  broker: MessageBroker,
  database: string,
  properties: SubscriptionProperties,
): Promise<ShownEntity> {
  const { topicName: topic, subscriptionName: subscription } = properties
  const counts = await broker.getSubscriptionRuntimeProperties({ topic, subscription })
  const entity = `${topic}/Subscriptions/${subscription}`
  const place = { database, entity, kind: 'subscription' } as const
  return shown({ ...place, ...countsOf(counts), ...settingsOf(properties) })
}

export async function shownTopic(
  broker: MessageBroker,
  database: string,
  { name, status }: TopicProperties,
): Promise<ShownEntity> {
  const { scheduledMessageCount, sizeInBytes } = await broker.getTopicRuntimeProperties(name)
  return shown({
    database,
    entity: name,
    kind: 'topic',
    status,
    requiresSession: null,
    active: null,
    locked: null,
    deferred: null,
    scheduled: scheduledMessageCount,
    dead: null,
    expired: null,
    bytes: sizeInBytes,
    oldestMs: null,
    maxDeliveryCount: null,
    lockMs: null,
    forwardTo: null,
  })
}

function shown(head: QueueHead): ShownEntity {
  const { maxDeliveryCount: _, lockMs: __, forwardTo: ___, ...row } = head
  return { head, row: { id: `${head.database}/${head.entity}`, ...row } }
}

function settingsOf({
  status,
  requiresSession,
  maxDeliveryCount,
  lockDuration,
  forwardTo,
}: Pick<
  Receiving,
  'status' | 'requiresSession' | 'maxDeliveryCount' | 'lockDuration' | 'forwardTo'
>): Pick<QueueHead, 'status' | 'requiresSession' | 'maxDeliveryCount' | 'lockMs' | 'forwardTo'> {
  return {
    status,
    requiresSession,
    maxDeliveryCount,
    lockMs: durationMs(lockDuration),
    forwardTo: forwardTo ?? null,
  }
}

function countsOf(
  counts: RuntimeProperties & Omit<SubscriptionRuntimeProperties, 'topicName' | 'subscriptionName'>,
): Pick<
  QueueRow,
  'active' | 'locked' | 'deferred' | 'scheduled' | 'dead' | 'expired' | 'bytes' | 'oldestMs'
> {
  return {
    active: counts.activeMessageCount,
    locked: counts.lockedMessageCount,
    deferred: counts.deferredMessageCount,
    scheduled: counts.scheduledMessageCount,
    dead: counts.deadLetterMessageCount,
    expired: counts.expiredMessageCount,
    bytes: counts.sizeInBytes,
    oldestMs: counts.oldestEnqueuedTimeUtc?.getTime() ?? null,
  }
}

/** Of a lock: minutes and seconds, such as `PT1M` or `PT30S`. */
function durationMs(text: string): number | null {
  const match = /^PT(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$/.exec(text)
  if (match === null) return null
  return (Number(match[1] ?? 0) * 60 + Number(match[2] ?? 0)) * 1_000
}
