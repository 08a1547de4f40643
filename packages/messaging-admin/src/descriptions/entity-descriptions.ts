import {
  MAX_DURATION,
  type QueueProperties,
  type QueueRuntimeProperties,
  type RuntimeProperties,
  type SubscriptionProperties,
  type TopicProperties,
} from '@tidemark/messaging'
import { description, property } from '../atom/entry.ts'
import { element, type XmlElement } from '../atom/xml-element.ts'
import { destinationAddress } from './destination.ts'

const COUNTS = 'http://schemas.microsoft.com/netservices/2011/06/servicebus'

/** Where clients reach the namespace, and what is in the entity, if that was asked for. */
export interface ShownWith<Runtime> {
  readonly host: string
  readonly runtime: Runtime | undefined
}

export type ReceivingRuntime = Omit<QueueRuntimeProperties, 'name'>

export interface TopicRuntime extends RuntimeProperties {
  readonly subscriptionCount: number
}

/** The service shows `SupportOrdering` of queues, too; then the official client takes every queue for a topic. */
export function queueDescription(
  queue: QueueProperties,
  { host, runtime }: ShownWith<ReceivingRuntime>,
): XmlElement {
  return description('QueueDescription', [
    property('LockDuration', queue.lockDuration),
    property('MaxSizeInMegabytes', queue.maxSizeInMegabytes),
    property('RequiresDuplicateDetection', queue.requiresDuplicateDetection),
    property('RequiresSession', queue.requiresSession),
    property('DefaultMessageTimeToLive', queue.defaultMessageTimeToLive ?? MAX_DURATION),
    property('DeadLetteringOnMessageExpiration', queue.deadLetteringOnMessageExpiration),
    property('DuplicateDetectionHistoryTimeWindow', queue.duplicateDetectionHistoryTimeWindow),
    property('MaxDeliveryCount', queue.maxDeliveryCount),
    property('EnableBatchedOperations', true),
    property('SizeInBytes', runtime?.sizeInBytes),
    property('MessageCount', runtime?.totalMessageCount),
    property('IsAnonymousAccessible', false),
    property('AuthorizationRules', ''),
    property('Status', queue.status),
    property('ForwardTo', destinationAddress(queue.forwardTo, host)),
    metadata(queue.userMetadata),
    ...times(runtime),
    receivingCounts(runtime),
    property('AutoDeleteOnIdle', queue.autoDeleteOnIdle ?? MAX_DURATION),
    property('EnablePartitioning', false),
    property(
      'ForwardDeadLetteredMessagesTo',
      destinationAddress(queue.forwardDeadLetteredMessagesTo, host),
    ),
    property('EntityAvailabilityStatus', 'Available'),
    property('EnableExpress', false),
    property('MaxMessageSizeInKilobytes', queue.maxMessageSizeInKilobytes),
  ])
}

export function topicDescription(
  topic: TopicProperties,
  { runtime }: ShownWith<TopicRuntime>,
): XmlElement {
  return description('TopicDescription', [
    property('DefaultMessageTimeToLive', topic.defaultMessageTimeToLive ?? MAX_DURATION),
    property('MaxSizeInMegabytes', topic.maxSizeInMegabytes),
    property('RequiresDuplicateDetection', topic.requiresDuplicateDetection),
    property('DuplicateDetectionHistoryTimeWindow', topic.duplicateDetectionHistoryTimeWindow),
    property('EnableBatchedOperations', true),
    property('SizeInBytes', runtime?.sizeInBytes),
    property('FilteringMessagesBeforePublishing', false),
    property('IsAnonymousAccessible', false),
    property('AuthorizationRules', ''),
    property('Status', topic.status),
    metadata(topic.userMetadata),
    ...times(runtime),
    property('SupportOrdering', true),
    countDetails(runtime && { active: 0, dead: 0, scheduled: runtime.scheduledMessageCount }),
    property('SubscriptionCount', runtime?.subscriptionCount),
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
  { host, runtime }: ShownWith<ReceivingRuntime>,
): XmlElement {
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
    property('EnableBatchedOperations', true),
    property('Status', subscription.status),
    property('ForwardTo', destinationAddress(subscription.forwardTo, host)),
    ...times(runtime),
    metadata(subscription.userMetadata),
    receivingCounts(runtime),
    property(
      'ForwardDeadLetteredMessagesTo',
      destinationAddress(subscription.forwardDeadLetteredMessagesTo, host),
    ),
    property('AutoDeleteOnIdle', subscription.autoDeleteOnIdle ?? MAX_DURATION),
    property('EntityAvailabilityStatus', 'Available'),
  ])
}

function metadata(text: string): XmlElement | undefined {
  return property('UserMetadata', text === '' ? undefined : text)
}

function times(runtime: RuntimeProperties | undefined): readonly (XmlElement | undefined)[] {
  return [
    property('CreatedAt', runtime?.createdAtUtc.toISOString()),
    property('UpdatedAt', runtime?.modifiedAtUtc.toISOString()),
    property('AccessedAt', runtime?.accessedAtUtc.toISOString()),
  ]
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
