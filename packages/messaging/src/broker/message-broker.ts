import type { Clock, Random } from '@tidemark/contracts'
import type { Database } from '@tidemark/store'
import type { NamespaceOptions } from '../entities/namespace.ts'
import type {
  QueueOptions,
  QueueProperties,
  QueueRuntimeProperties,
  RuleOptions,
  RuleProperties,
  SubscriptionName,
  SubscriptionOptions,
  SubscriptionProperties,
  SubscriptionRuntimeProperties,
  TopicOptions,
  TopicProperties,
  TopicRuntimeProperties,
} from '../entities/options.ts'
import type { MessageReceiver } from './message-receiver.ts'
import type { MessageSender } from './message-sender.ts'
import type { AcceptSessionOptions, ReceiverOptions } from './receiver-options.ts'
import type { SessionReceiver } from './session-receiver.ts'

export interface MessagingOptions extends NamespaceOptions {
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the operating system's */
  readonly random?: Random | undefined
}

/** A namespace of queues and topics in one database of a store. Any number of processes may open the same one. */
export function openMessaging(database: Database, options: MessagingOptions = {}): MessageBroker {
  return new MessageBroker(database, options)
}

type ReceivingEntity = string | SubscriptionName

export declare class MessageBroker {
  constructor(database: Database, options: MessagingOptions)

  createQueue(name: string, options?: QueueOptions): Promise<QueueProperties>
  getQueue(name: string): Promise<QueueProperties>
  listQueues(): Promise<readonly QueueProperties[]>
  updateQueue(name: string, changes: QueueOptions): Promise<QueueProperties>
  deleteQueue(name: string): Promise<void>
  getQueueRuntimeProperties(name: string): Promise<QueueRuntimeProperties>

  createTopic(name: string, options?: TopicOptions): Promise<TopicProperties>
  getTopic(name: string): Promise<TopicProperties>
  listTopics(): Promise<readonly TopicProperties[]>
  updateTopic(name: string, changes: TopicOptions): Promise<TopicProperties>
  deleteTopic(name: string): Promise<void>
  getTopicRuntimeProperties(name: string): Promise<TopicRuntimeProperties>

  createSubscription(
    name: SubscriptionName,
    options?: SubscriptionOptions,
  ): Promise<SubscriptionProperties>
  getSubscription(name: SubscriptionName): Promise<SubscriptionProperties>
  listSubscriptions(topic: string): Promise<readonly SubscriptionProperties[]>
  updateSubscription(
    name: SubscriptionName,
    changes: SubscriptionOptions,
  ): Promise<SubscriptionProperties>
  deleteSubscription(name: SubscriptionName): Promise<void>
  getSubscriptionRuntimeProperties(name: SubscriptionName): Promise<SubscriptionRuntimeProperties>

  createRule(name: SubscriptionName, rule: RuleOptions): Promise<RuleProperties>
  listRules(name: SubscriptionName): Promise<readonly RuleProperties[]>
  deleteRule(name: SubscriptionName, rule: string): Promise<void>

  /** All entities of an emulator's `Config.json`, or none. Entities that exist already stay as they are. */
  applyConfig(config: unknown): Promise<void>

  /** Of a queue or topic. Does no I/O: an entity that does not exist is refused at the first call. */
  createSender<Body = unknown>(queueOrTopic: string): MessageSender<Body>
  createReceiver<Body = unknown>(
    entity: ReceivingEntity,
    options?: ReceiverOptions,
  ): MessageReceiver<Body>
  acceptSession<Body = unknown>(
    entity: ReceivingEntity,
    sessionId: string,
    options?: AcceptSessionOptions,
  ): Promise<SessionReceiver<Body>>
  acceptNextSession<Body = unknown>(
    entity: ReceivingEntity,
    options?: AcceptSessionOptions,
  ): Promise<SessionReceiver<Body>>

  /**
   * Moves messages from an entity's dead-letter queue back to the entity, each exactly once. There they are new: TTL and
   * deliveries count anew. Resolves with their numbers in the dead-letter queue. What is locked, or has no room, stays.
   */
  redriveDeadLetters(
    entity: ReceivingEntity,
    options?: {
      /** @default all that are there */
      readonly sequenceNumbers?: readonly number[] | undefined
      readonly signal?: AbortSignal | undefined
    },
  ): Promise<readonly number[]>

  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
