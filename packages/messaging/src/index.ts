/**
 * Queues and topics.
 *
 * @packageDocumentation
 * @public
 */

export {
  openMessaging,
  type MessageBroker,
  type MessagingOptions,
  type RedriveOptions,
} from './broker/message-broker.ts'
export type { DeadLetteredMessage, DeadLetterFeed } from './broker/dead-letter-feed.ts'
export type {
  DeadLetterOptions,
  MessageReceiver,
  PropertiesToModify,
  Subscription,
} from './broker/message-receiver.ts'
export type { MessageBatch } from './broker/message-batch.ts'
export type { MessageSender, OutgoingOptions } from './broker/message-sender.ts'
export type { QueueDeadLetters, QueueDeadLettersOptions } from './broker/queue-dead-letters.ts'
export type {
  AcceptSessionOptions,
  MessageHandlers,
  PeekOptions,
  ReceiveOptions,
  ReceiverOptions,
  SubscribeOptions,
} from './broker/receiver-options.ts'
export type { SessionReceiver } from './broker/session-receiver.ts'
export type { StuckDeadLetters } from './broker/stuck-letters.ts'
export type { OutgoingMessages } from '@tidemark/store/messages'
export { MAX_DURATION, type Duration } from './entities/duration.ts'
export type {
  NamespaceLimits,
  NamespaceOptions,
  NamespaceProperties,
} from './entities/namespace.ts'
export type {
  CorrelationRuleFilter,
  QueueOptions,
  QueueProperties,
  QueueRuntimeProperties,
  RuleOptions,
  RuleProperties,
  RuntimeProperties,
  SqlRuleFilter,
  SubscriptionName,
  SubscriptionOptions,
  SubscriptionProperties,
  SubscriptionRuntimeProperties,
  TopicOptions,
  TopicProperties,
  TopicRuntimeProperties,
} from './entities/options.ts'
export type { Message, PropertyValue, ReceivedMessage } from './messages/message.ts'
export { isSessionId } from './messages/message-id.ts'

export { amqpCondition } from './errors/conditions.ts'
export { InvalidRuleError } from './errors/invalid-rule-error.ts'
export { LinkClosedError } from './errors/link-closed-error.ts'
export { MessageLockLostError } from './errors/message-lock-lost-error.ts'
export { MessageNotFoundError } from './errors/message-not-found-error.ts'
export {
  MessagingEntityDisabledError,
  MessagingEntityExistsError,
  MessagingEntityNotFoundError,
} from './errors/messaging-entity-errors.ts'
export { MessageSizeExceededError, QuotaExceededError } from './errors/messaging-limit-errors.ts'
export { MessagingNotAllowedError } from './errors/messaging-not-allowed-error.ts'
export { ServiceTimeoutError } from './errors/service-timeout-error.ts'
export { SessionCannotBeLockedError, SessionLockLostError } from './errors/session-lock-errors.ts'
export { UnauthorizedAccessError } from './errors/unauthorized-access-error.ts'
