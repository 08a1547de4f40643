import {
  InvalidOptionError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
  type Telemetry,
} from '@tidemark/contracts'
import { checkOptions, describeValue, option, type OptionRules } from '@tidemark/contracts/internal'
import type { Database } from '@tidemark/store'
import { EntityAdministration } from '../entities/entity-administration.ts'
import { deadLetterPath, isDeadLetterPath, subscriptionPath } from '../entities/entity-names.ts'
import {
  NAMESPACE_RULES,
  resolveNamespace,
  type NamespaceOptions,
  type NamespaceProperties,
} from '../entities/namespace.ts'
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
import { BrokerContext } from './broker-context.ts'
import { DeadLetterFeed } from './dead-letter-feed.ts'
import { MessageFront } from './message-front.ts'
import type { MessageReceiver } from './message-receiver.ts'
import { MessageSender } from './message-sender.ts'
import { Receivers } from './receivers.ts'
import {
  checkedSequenceNumbers,
  type AcceptSessionOptions,
  type ReceiverOptions,
} from './receiver-options.ts'
import { QueueDeadLetters, type QueueDeadLettersOptions } from './queue-dead-letters.ts'
import { redriveDeadLetters } from './redrive.ts'
import type { SessionReceiver } from './session-receiver.ts'
import type { StuckDeadLetters } from './stuck-letters.ts'

export interface MessagingOptions extends NamespaceOptions {
  /**
   * Calls of senders and receivers are made in spans of it, and messages are sent with its trace context. Not those of fronts.
   * @default none
   */
  readonly telemetry?: Telemetry | undefined
  /**
   * Called when dead letters stay in their queue although `forwardDeadLetteredMessagesTo` is set: they were forwarded too often,
   * are too large for the destination, or have no session there. Again after a minute, as long as somebody looks there.
   * @default none
   */
  readonly onStuckDeadLetters?: ((event: StuckDeadLetters) => void) | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the operating system's */
  readonly random?: Random | undefined
}

const BROKER_RULES: OptionRules<MessagingOptions> = {
  ...NAMESPACE_RULES,
  telemetry: option.telemetry,
  onStuckDeadLetters: option.function,
  clock: option.clock,
  random: option.random,
}

export interface RedriveOptions {
  /**
   * Sequence numbers of messages in the dead-letter queue.
   * @range 0 or more; at most 10_000 of them @default all that are there
   */
  readonly sequenceNumbers?: readonly number[] | undefined
  /** Ends it between two pieces. @default none */
  readonly signal?: AbortSignal | undefined
}

/** A namespace of queues and topics in one database of a store. Any number of processes may open the same one. */
export function openMessaging(database: Database, options: MessagingOptions = {}): MessageBroker {
  return new MessageBroker(database, options)
}

type ReceivingEntity = string | SubscriptionName

/** Made by `openMessaging`. Starts nothing until it is used. Close it when you no longer need it. */
export class MessageBroker {
  readonly #context: BrokerContext
  readonly #administration: EntityAdministration
  readonly #receivers: Receivers
  #closed: Promise<void> | undefined

  /** @throws ERR_INVALID_OPTION */
  constructor(database: Database, options: MessagingOptions) {
    checkOptions(options, BROKER_RULES)
    const {
      telemetry,
      onStuckDeadLetters,
      clock = systemClock,
      random = systemRandom,
      ...namespace
    } = options
    this.#context = new BrokerContext(database, { telemetry, onStuckDeadLetters, clock, random })
    this.#administration = new EntityAdministration(this.#context, resolveNamespace(namespace))
    this.#receivers = new Receivers(this.#context)
  }

  createQueue(name: string, options?: QueueOptions): Promise<QueueProperties> {
    return this.#administration.createQueue(name, options)
  }

  getQueue(name: string): Promise<QueueProperties> {
    return this.#administration.getQueue(name)
  }

  listQueues(): Promise<readonly QueueProperties[]> {
    return this.#administration.listQueues()
  }

  updateQueue(name: string, changes: QueueOptions): Promise<QueueProperties> {
    return this.#administration.updateQueue(name, changes)
  }

  deleteQueue(name: string): Promise<void> {
    return this.#administration.deleteQueue(name)
  }

  getQueueRuntimeProperties(name: string): Promise<QueueRuntimeProperties> {
    return this.#administration.getQueueRuntimeProperties(name)
  }

  createTopic(name: string, options?: TopicOptions): Promise<TopicProperties> {
    return this.#administration.createTopic(name, options)
  }

  getTopic(name: string): Promise<TopicProperties> {
    return this.#administration.getTopic(name)
  }

  listTopics(): Promise<readonly TopicProperties[]> {
    return this.#administration.listTopics()
  }

  updateTopic(name: string, changes: TopicOptions): Promise<TopicProperties> {
    return this.#administration.updateTopic(name, changes)
  }

  deleteTopic(name: string): Promise<void> {
    return this.#administration.deleteTopic(name)
  }

  getTopicRuntimeProperties(name: string): Promise<TopicRuntimeProperties> {
    return this.#administration.getTopicRuntimeProperties(name)
  }

  createSubscription(
    name: SubscriptionName,
    options?: SubscriptionOptions,
  ): Promise<SubscriptionProperties> {
    return this.#administration.createSubscription(name, options)
  }

  getSubscription(name: SubscriptionName): Promise<SubscriptionProperties> {
    return this.#administration.getSubscription(name)
  }

  listSubscriptions(topic: string): Promise<readonly SubscriptionProperties[]> {
    return this.#administration.listSubscriptions(topic)
  }

  updateSubscription(
    name: SubscriptionName,
    changes: SubscriptionOptions,
  ): Promise<SubscriptionProperties> {
    return this.#administration.updateSubscription(name, changes)
  }

  deleteSubscription(name: SubscriptionName): Promise<void> {
    return this.#administration.deleteSubscription(name)
  }

  getSubscriptionRuntimeProperties(name: SubscriptionName): Promise<SubscriptionRuntimeProperties> {
    return this.#administration.getSubscriptionRuntimeProperties(name)
  }

  createRule(name: SubscriptionName, rule: RuleOptions): Promise<RuleProperties> {
    return this.#administration.createRule(name, rule)
  }

  /** Replaces the rule of this name: what is not given is not kept. */
  updateRule(name: SubscriptionName, rule: RuleOptions): Promise<RuleProperties> {
    return this.#administration.updateRule(name, rule)
  }

  listRules(name: SubscriptionName): Promise<readonly RuleProperties[]> {
    return this.#administration.listRules(name)
  }

  deleteRule(name: SubscriptionName, rule: string): Promise<void> {
    return this.#administration.deleteRule(name, rule)
  }

  /** As opened with, or as the last configuration said. */
  getNamespaceProperties(): NamespaceProperties {
    return this.#administration.getNamespaceProperties()
  }

  /**
   * Creates the entities of an emulator's `Config.json` that do not exist: all of them, or none. What exists must be as the
   * configuration says, and is not changed. Rejects with ERR_INVALID_OPTION, which lists every problem with its path.
   */
  applyConfig(config: unknown): Promise<void> {
    return this.#administration.applyConfig(config)
  }

  /** Of a queue or topic. Does no I/O: an entity that does not exist is refused at the first call. */
  createSender<Body = unknown>(queueOrTopic: string): MessageSender<Body> {
    return new MessageSender<Body>(this.#context, pathOf(queueOrTopic))
  }

  /** Does no I/O, either. */
  createReceiver<Body = unknown>(
    entity: ReceivingEntity,
    options: ReceiverOptions = {},
  ): MessageReceiver<Body> {
    const path = pathOf(entity)
    const isDead = options.subQueueType === 'deadLetter' && !isDeadLetterPath(path)
    return this.#receivers.open<Body>(isDead ? deadLetterPath(path) : path, options)
  }

  acceptSession<Body = unknown>(
    entity: ReceivingEntity,
    sessionId: string,
    options: AcceptSessionOptions = {},
  ): Promise<SessionReceiver<Body>> {
    return this.#receivers.acceptSession<Body>(pathOf(entity), sessionId, options)
  }

  acceptNextSession<Body = unknown>(
    entity: ReceivingEntity,
    options: AcceptSessionOptions = {},
  ): Promise<SessionReceiver<Body>> {
    return this.#receivers.acceptNextSession<Body>(pathOf(entity), options)
  }

  /**
   * Moves messages from an entity's dead-letter queue back to the entity, each exactly once. There they are new: TTL and
   * deliveries count anew. Resolves with their numbers in the dead-letter queue. What is locked, or has no room, stays.
   */
  async redriveDeadLetters(
    entity: ReceivingEntity,
    options: RedriveOptions = {},
  ): Promise<readonly number[]> {
    checkOptions(options, { sequenceNumbers: option.anything, signal: option.signal })
    const { sequenceNumbers: given, signal } = options
    const sequenceNumbers = given && checkedSequenceNumbers(given)
    const queue = this.#context.commands(deadLetterPath(pathOf(entity)))
    return redriveDeadLetters(queue, { sequenceNumbers, signal })
  }

  /**
   * The `deadLetters` of a change feed processor's host: letters stand in the dead-letter queue of this queue, which must have
   * `requiresSession`. Does no I/O. @throws ERR_INVALID_OPTION
   */
  queueDeadLetters(queue: string, options: QueueDeadLettersOptions = {}): QueueDeadLetters {
    const parts = { context: this.#context, receivers: this.#receivers }
    return new QueueDeadLetters(parts, pathOf(queue), options)
  }

  /** The dead letters of a queue or subscription as a change feed. Does no I/O. */
  deadLetterFeed<Body = unknown>(entity: ReceivingEntity): DeadLetterFeed<Body> {
    return new DeadLetterFeed<Body>(this.#context, pathOf(entity))
  }

  /** What a front for a wire protocol is made of: messages as they are stored. See `@tidemark/messaging/front`. */
  front(): MessageFront {
    return new MessageFront({
      context: this.#context,
      receivers: this.#receivers,
      administration: this.#administration,
    })
  }

  /** Closes its receivers and senders, and resolves when nothing of it runs any more. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    await this.#receivers.close()
    await this.#context.close()
  }
}

/** @throws ERR_INVALID_OPTION */
function pathOf(entity: ReceivingEntity): string {
  if (typeof entity === 'string') return entity
  const { topic, subscription }: Partial<SubscriptionName> = entity ?? {}
  if (typeof topic === 'string' && typeof subscription === 'string') {
    return subscriptionPath(topic, subscription)
  }
  throw new InvalidOptionError(
    `an entity must be a path, or the names of a topic and its subscription, got ${describeValue(entity)}`,
  )
}
