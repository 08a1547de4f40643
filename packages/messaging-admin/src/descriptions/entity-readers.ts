import type { QueueOptions, SubscriptionOptions, TopicOptions } from '@tidemark/messaging'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'
import { readDestination } from './destination.ts'
import {
  flagOf,
  ignored,
  isNil,
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
  CorrelationFilterCount: ignored,
  CountDetails: ignored,
  CreatedAt: ignored,
  EntityAvailabilityStatus: ignored,
  MessageCount: ignored,
  SizeInBytes: ignored,
  SqlFilterCount: ignored,
  SubscriptionCount: ignored,
  UpdatedAt: ignored,
} as const

/**
 * What changes nothing here and is shown again as it was given, by the names of elements: calls of the store are always
 * batched, every topic is in order, its window means nothing without detection, and a destination has many addresses.
 */
const SHOWN: Readonly<Record<string, (given: XmlElement) => string>> = {
  DuplicateDetectionHistoryTimeWindow: ({ text }) => text.trim(),
  EnableBatchedOperations: (given) => String(flagOf(given)),
  ForwardDeadLetteredMessagesTo: ({ text }) => text.trim(),
  ForwardTo: ({ text }) => text.trim(),
  SupportOrdering: (given) => String(flagOf(given)),
}

/** The texts of a description that has been read. */
export function shownTexts({ children }: XmlElement): Readonly<Record<string, string>> {
  return Object.fromEntries(
    children.flatMap((given) => {
      const show = Object.hasOwn(SHOWN, given.name) ? SHOWN[given.name] : undefined
      return show === undefined || isNil(given) ? [] : [[given.name, show(given)]]
    }),
  )
}

/** Of every kind. */
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

/** Of queues and topics. Every message is durable: more than what express asks for. */
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
