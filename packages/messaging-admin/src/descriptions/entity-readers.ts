import type { QueueOptions, SubscriptionOptions, TopicOptions } from '@tidemark/messaging'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'
import { readDestination } from './destination.ts'
import {
  flagOf,
  ignored,
  integerOf,
  mustBeFalse,
  oneOf,
  type PropertyReaders,
} from './read-properties.ts'
import { readRule } from './rule-description.ts'

const STATUSES = ['Active', 'Disabled', 'SendDisabled', 'ReceiveDisabled'] as const

/** Accepted from clients that send back what they have read. */
const ANSWERED_ONLY = {
  AccessedAt: ignored,
  CountDetails: ignored,
  CreatedAt: ignored,
  EntityAvailabilityStatus: ignored,
  MessageCount: ignored,
  SizeInBytes: ignored,
  SubscriptionCount: ignored,
  UpdatedAt: ignored,
} as const

/** Of every kind. Calls of the store are always batched. */
const ENTITY: PropertyReaders<TopicOptions & SubscriptionOptions> = {
  ...ANSWERED_ONLY,
  AutoDeleteOnIdle: ({ text }) => ({ autoDeleteOnIdle: text.trim() }),
  DefaultMessageTimeToLive: ({ text }) => ({ defaultMessageTimeToLive: text.trim() }),
  EnableBatchedOperations: (given) => {
    flagOf(given)
    return {}
  },
  Status: (given) => ({
    status: oneOf(given, STATUSES),
  }),
  UserMetadata: ({ text }) => ({ userMetadata: text }),
}

const RECEIVING: PropertyReaders<QueueOptions & SubscriptionOptions> = {
  DeadLetteringOnMessageExpiration: (given) => ({
    deadLetteringOnMessageExpiration: flagOf(given),
  }),
  ForwardDeadLetteredMessagesTo: (given) => ({
    forwardDeadLetteredMessagesTo: readDestination(given),
  }),
  ForwardTo: (given) => ({ forwardTo: readDestination(given) }),
  LockDuration: ({ text }) => ({ lockDuration: text.trim() }),
  MaxDeliveryCount: (given) => ({ maxDeliveryCount: integerOf(given) }),
  RequiresSession: (given) => ({ requiresSession: flagOf(given) }),
}

/** Of queues and topics. Every message is durable, and in order: more than what express, or without order, asks for. */
const STORING: PropertyReaders<QueueOptions & TopicOptions> = {
  AuthorizationRules: refuseRules,
  DuplicateDetectionHistoryTimeWindow: ({ text }) => ({
    duplicateDetectionHistoryTimeWindow: text.trim(),
  }),
  EnableExpress: (given) => {
    flagOf(given)
    return {}
  },
  EnablePartitioning: mustBeFalse('partitioned entities are not offered'),
  IsAnonymousAccessible: mustBeFalse('every client needs a key'),
  MaxMessageSizeInKilobytes: (given) => ({ maxMessageSizeInKilobytes: integerOf(given) }),
  MaxSizeInMegabytes: (given) => ({ maxSizeInMegabytes: integerOf(given) }),
  RequiresDuplicateDetection: (given) => ({ requiresDuplicateDetection: flagOf(given) }),
  SupportOrdering: (given) => {
    flagOf(given)
    return {}
  },
}

export const QUEUE_READERS: PropertyReaders<QueueOptions> = { ...ENTITY, ...RECEIVING, ...STORING }

export const TOPIC_READERS: PropertyReaders<TopicOptions> = {
  ...ENTITY,
  ...STORING,
  EnableSubscriptionPartitioning: mustBeFalse('partitioned entities are not offered'),
  FilteringMessagesBeforePublishing: mustBeFalse(
    'a message that no subscription takes is not refused',
  ),
}

export const SUBSCRIPTION_READERS: PropertyReaders<SubscriptionOptions> = {
  ...ENTITY,
  ...RECEIVING,
  DeadLetteringOnFilterEvaluationExceptions: (given) => ({
    deadLetteringOnFilterEvaluationExceptions: flagOf(given),
  }),
  DefaultRuleDescription: (given) => ({ rules: [readRule(given, '$Default')] }),
}

function refuseRules({ name, children }: XmlElement): Record<string, never> {
  if (children.length === 0) return {}
  throw new InvalidRequestError(
    `${name} must be empty: keys are those of the namespace, and entities have none of their own.`,
  )
}
