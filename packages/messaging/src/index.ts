export {
  openMessaging,
  type MessageBroker,
  type MessagingOptions,
  type SubscriptionName,
} from './broker/message-broker.ts'
export type {
  DeadLetterOptions,
  MessageReceiver,
  PropertiesToModify,
  Subscription,
} from './broker/message-receiver.ts'
export type { MessageBatch, MessageSender } from './broker/message-sender.ts'
export type {
  AcceptSessionOptions,
  MessageHandlers,
  PeekOptions,
  ReceiveOptions,
  ReceiverOptions,
  SubscribeOptions,
} from './broker/receiver-options.ts'
export type { SessionReceiver } from './broker/session-receiver.ts'
export type {
  CorrelationRuleFilter,
  Duration,
  NamespaceLimits,
  NamespaceOptions,
  QueueOptions,
  QueueProperties,
  QueueRuntimeProperties,
  RuleOptions,
  RuleProperties,
  RuntimeProperties,
  SqlRuleFilter,
  SubscriptionOptions,
  SubscriptionProperties,
  SubscriptionRuntimeProperties,
  TopicOptions,
  TopicProperties,
  TopicRuntimeProperties,
} from './entities/options.ts'
export type { Message, PropertyValue, ReceivedMessage } from './messages/message.ts'
