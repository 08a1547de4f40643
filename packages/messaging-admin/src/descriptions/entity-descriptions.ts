import {
  MAX_DURATION,
  type QueueProperties,
  type QueueRuntimeProperties,
  type RuntimeProperties,
  type SubscriptionProperties,
  type TopicProperties,
} from '@tidemark/messaging'
import type { EntityRecord } from '@tidemark/messaging/front'
import { description, property } from '../atom/entry.ts'
import { element, type XmlElement } from '../atom/xml-element.ts'
import { shownDestination } from './destination.ts'

const DUPLICATE_WINDOW = 'DuplicateDetectionHistoryTimeWindow'
const COUNTS = 'http://schemas.microsoft.com/netservices/2011/06/servicebus'
/** When what nobody has used was used. */
const NEVER = '0001-01-01T00:00:00Z'

/** Where clients reach the namespace, and what is in the entity, if that was asked for. */
export interface ShownWith<Runtime> {
  /** `https://localhost:5300` */
  readonly origin: string
  /** What was given and changes nothing, by the names of elements. */
  readonly shown: EntityRecord['settings']['shown']
  readonly runtime: Runtime | undefined
}

export type ReceivingRuntime = Omit<QueueRuntimeProperties, 'name'>

export interface TopicRuntime extends RuntimeProperties {
  readonly subscriptionCount: number
  /** Of all its subscriptions. */
  readonly filters: { readonly sql: number; readonly correlation: number }
}

/** The service shows `SupportOrdering` of queues, too; then the official client takes every queue for a topic. */
export function queueDescription(
  queue: QueueProperties,
  shownWith: ShownWith<ReceivingRuntime>,
): XmlElement {
  const { shown = {}, runtime } = shownWith
  return description('QueueDescription', [
    property('LockDuration', queue.lockDuration),
    property('MaxSizeInMegabytes', queue.maxSizeInMegabytes),
    property('RequiresDuplicateDetection', queue.requiresDuplicateDetection),
    property('RequiresSession', queue.requiresSession),
    property('DefaultMessageTimeToLive', queue.defaultMessageTimeToLive ?? MAX_DURATION),
    property('DeadLetteringOnMessageExpiration', queue.deadLetteringOnMessageExpiration),
    property('DuplicateDetectionHistoryTimeWindow', queue.duplicateDetectionHistoryTimeWindow),
    property('MaxDeliveryCount', queue.maxDeliveryCount),
    property('EnableBatchedOperations', shown['EnableBatchedOperations'] ?? true),
    property('SizeInBytes', runtime?.sizeInBytes),
    property('MessageCount', runtime?.totalMessageCount),
    property('IsAnonymousAccessible', false),
    property('AuthorizationRules', ''),
    property('Status', queue.status),
    destination('ForwardTo', queue.forwardTo, shownWith),
    metadata(queue.userMetadata),
    ...times(runtime),
    receivingCounts(runtime),
    property('AutoDeleteOnIdle', queue.autoDeleteOnIdle ?? MAX_DURATION),
    property('EnablePartitioning', false),
    destination('ForwardDeadLetteredMessagesTo', queue.forwardDeadLetteredMessagesTo, shownWith),
    property('EntityAvailabilityStatus', 'Available'),
    property('EnableExpress', false),
    property('MaxMessageSizeInKilobytes', queue.maxMessageSizeInKilobytes),
  ])
}

export function topicDescription(
  topic: TopicProperties,
  { shown = {}, runtime }: ShownWith<TopicRuntime>,
): XmlElement {
  const window = topic.duplicateDetectionHistoryTimeWindow
  return description('TopicDescription', [
    property('DefaultMessageTimeToLive', topic.defaultMessageTimeToLive ?? MAX_DURATION),
    property('MaxSizeInMegabytes', topic.maxSizeInMegabytes),
    property('RequiresDuplicateDetection', topic.requiresDuplicateDetection),
    property(
      DUPLICATE_WINDOW,
      topic.requiresDuplicateDetection ? window : (shown[DUPLICATE_WINDOW] ?? window),
    ),
    property('EnableBatchedOperations', shown['EnableBatchedOperations'] ?? true),
    property('SizeInBytes', runtime?.sizeInBytes),
    property('FilteringMessagesBeforePublishing', false),
    property('IsAnonymousAccessible', false),
    property('AuthorizationRules', ''),
    property('Status', topic.status),
    metadata(topic.userMetadata),
    ...times(runtime),
    property('SupportOrdering', shown['SupportOrdering'] ?? true),
    countDetails(runtime && { active: 0, dead: 0, scheduled: runtime.scheduledMessageCount }),
    property('SubscriptionCount', runtime?.subscriptionCount),
    property('SqlFilterCount', runtime?.filters.sql),
    property('CorrelationFilterCount', runtime?.filters.correlation),
    property('AutoDeleteOnIdle', topic.autoDeleteOnIdle ?? MAX_DURATION),
    property('EnablePartitioning', false),
    property('EntityAvailabilityStatus', 'Available'),
    property('EnableSubscriptionPartitioning', false),
    property('EnableExpress', false),
    property('MaxMessageSizeInKilobytes', topic.maxMessageSizeInKilobytes),
  ])
}

export function subscriptionDescription(
  subscription: SubscriptionProperties,
  shownWith: ShownWith<ReceivingRuntime>,
): XmlElement {
  const { shown = {}, runtime } = shownWith
  return description('SubscriptionDescription', [
    property('LockDuration', subscription.lockDuration),
    property('RequiresSession', subscription.requiresSession),
    property('DefaultMessageTimeToLive', subscription.defaultMessageTimeToLive ?? MAX_DURATION),
    property('DeadLetteringOnMessageExpiration', subscription.deadLetteringOnMessageExpiration),
    property(
      'DeadLetteringOnFilterEvaluationExceptions',
      subscription.deadLetteringOnFilterEvaluationExceptions,
    ),
    property('MessageCount', runtime?.totalMessageCount),
    property('MaxDeliveryCount', subscription.maxDeliveryCount),
    property('EnableBatchedOperations', shown['EnableBatchedOperations'] ?? true),
    property('Status', subscription.status),
    destination('ForwardTo', subscription.forwardTo, shownWith),
    ...times(runtime),
    metadata(subscription.userMetadata),
    receivingCounts(runtime),
    destination(
      'ForwardDeadLetteredMessagesTo',
      subscription.forwardDeadLetteredMessagesTo,
      shownWith,
    ),
    property('AutoDeleteOnIdle', subscription.autoDeleteOnIdle ?? MAX_DURATION),
    property('EntityAvailabilityStatus', 'Available'),
  ])
}

function metadata(text: string): XmlElement | undefined {
  return property('UserMetadata', text === '' ? undefined : text)
}

function destination(
  name: 'ForwardTo' | 'ForwardDeadLetteredMessagesTo',
  path: string | undefined,
  { shown, origin }: ShownWith<unknown>,
): XmlElement | undefined {
  return property(name, shownDestination(path, { given: shown?.[name], origin }))
}

function times(runtime: RuntimeProperties | undefined): readonly (XmlElement | undefined)[] {
  return [
    property('CreatedAt', runtime?.createdAtUtc.toISOString()),
    property('UpdatedAt', runtime?.modifiedAtUtc.toISOString()),
    property('AccessedAt', runtime && accessedAt(runtime)),
  ]
}

function accessedAt({ createdAtUtc, accessedAtUtc }: RuntimeProperties): string {
  const isUnused = accessedAtUtc.getTime() === createdAtUtc.getTime()
  return isUnused ? NEVER : accessedAtUtc.toISOString()
}

function receivingCounts(runtime: ReceivingRuntime | undefined): XmlElement | undefined {
  return countDetails(
    runtime && {
      active: runtime.activeMessageCount,
      dead: runtime.deadLetterMessageCount,
      scheduled: runtime.scheduledMessageCount,
    },
  )
}

/** What is forwarded does not wait in a transfer queue: it stays where it is until it can go. */
function countDetails(
  counts:
    | { readonly active: number; readonly dead: number; readonly scheduled: number }
    | undefined,
): XmlElement | undefined {
  if (counts === undefined) return undefined
  return element(
    'CountDetails',
    [
      property('d2p1:ActiveMessageCount', counts.active),
      property('d2p1:DeadLetterMessageCount', counts.dead),
      property('d2p1:ScheduledMessageCount', counts.scheduled),
      property('d2p1:TransferMessageCount', 0),
      property('d2p1:TransferDeadLetterMessageCount', 0),
    ],
    { 'xmlns:d2p1': COUNTS },
  )
}
