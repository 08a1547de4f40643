import type {
  Message,
  MessageBroker,
  MessageSender,
  QueueOptions,
  ReceivedMessage,
  ReceiverOptions,
  RuleOptions,
  SubscriptionName,
  SubscriptionOptions,
} from '@tidemark/messaging'
import type {
  EntityName,
  MessagingClient,
  TestedReceiver,
  TestedRule,
  TestedSender,
  TestedSession,
} from './messaging-client.ts'

const MANY = 1000
const DEAD = { subQueueType: 'deadLetter' } as const

/** How a case reaches an entity. */
export interface EntityParts {
  /** Creates, changes and describes entities. */
  readonly broker: MessageBroker
  /** Sends and receives: the broker too, or a client of another protocol. */
  readonly client: MessagingClient
  /** Resolves when nothing happens any more until time passes. */
  readonly settled: () => Promise<void>
}

/** What tests do with one queue or subscription. Sends to a subscription go to its topic. */
export class TestedEntity {
  readonly name: EntityName
  readonly sender: TestedSender
  readonly #parts: EntityParts
  #receiver: TestedReceiver | undefined

  constructor(name: EntityName, parts: EntityParts) {
    this.name = name
    this.#parts = parts
    this.sender = parts.client.createSender(typeof name === 'string' ? name : name.topic)
  }

  /** A sender of the broker itself, for what no client can do. */
  get brokerSender(): MessageSender {
    const { name } = this
    return this.#parts.broker.createSender(typeof name === 'string' ? name : name.topic)
  }

  /** The same one through another broker. */
  through(broker: MessageBroker): TestedEntity {
    return new TestedEntity(this.name, { ...this.#parts, broker, client: broker })
  }

  /** Together. A text is the body of a message without options. */
  async send(...messages: readonly (Message | string)[]): Promise<void> {
    await this.sender.sendMessages(
      messages.map((message) => (typeof message === 'string' ? { body: message } : message)),
    )
  }

  /** One receiver, made at the first use; `detach` closes it. */
  get receiver(): TestedReceiver {
    this.#receiver ??= this.attach()
    return this.#receiver
  }

  attach(options: ReceiverOptions = {}): TestedReceiver {
    return this.#parts.client.createReceiver(this.name, options)
  }

  async detach(): Promise<void> {
    await this.#receiver?.close()
    this.#receiver = undefined
  }

  /** What is there now. The receiver is a listener from now on. */
  receive(max: number = MANY): Promise<ReceivedMessage[]> {
    return receiveNow(this.receiver, max)
  }

  /** The only message that is there now. */
  async receiveOne(): Promise<ReceivedMessage> {
    return only(await this.receive(2))
  }

  accept(sessionId: string, options: ReceiverOptions = {}): Promise<TestedSession> {
    return this.#parts.client.acceptSession(this.name, sessionId, options)
  }

  /** A session that is free and has messages now. */
  acceptNext(maxWaitTimeInMs: number = 0): Promise<TestedSession> {
    return this.#parts.client.acceptNextSession(this.name, { maxWaitTimeInMs })
  }

  createRule(rule: RuleOptions): Promise<unknown> {
    return this.#parts.client.createRule(this.#subscription, rule)
  }

  deleteRule(name: string): Promise<void> {
    return this.#parts.client.deleteRule(this.#subscription, name)
  }

  listRules(): Promise<readonly TestedRule[]> {
    return this.#parts.client.listRules(this.#subscription)
  }

  get #subscription(): SubscriptionName {
    if (typeof this.name === 'string') throw new Error(`${this.name} is no subscription`)
    return this.name
  }

  /** Changes what a queue and a subscription have in common. */
  async update(changes: QueueOptions & SubscriptionOptions): Promise<void> {
    const { name } = this
    const { broker } = this.#parts
    if (typeof name === 'string') await broker.updateQueue(name, changes)
    else await broker.updateSubscription(name, changes)
  }

  /** Everything that is there now, removed, through a receiver of its own. */
  async drain(): Promise<ReceivedMessage[]> {
    await using receiver = this.attach({ receiveMode: 'receiveAndDelete' })
    return await receiveNow(receiver)
  }

  /** Everything that is in the dead-letter queue, removed. */
  async drainDead(): Promise<ReceivedMessage[]> {
    await using receiver = this.attach({ ...DEAD, receiveMode: 'receiveAndDelete' })
    const all: ReceivedMessage[] = []
    for (;;) {
      const messages = await receiveNow(receiver)
      if (messages.length === 0) return all
      all.push(...messages)
    }
  }

  /** Without being a listener. */
  async peek(): Promise<ReceivedMessage[]> {
    await using receiver = this.attach()
    return await receiver.peekMessages(MANY, { fromSequenceNumber: 0 })
  }

  async peekOne(): Promise<ReceivedMessage> {
    return only(await this.peek())
  }

  /** What is in the dead-letter queue. */
  async dead(): Promise<ReceivedMessage[]> {
    await using receiver = this.attach(DEAD)
    return await receiver.peekMessages(MANY, { fromSequenceNumber: 0 })
  }

  async deadOne(): Promise<ReceivedMessage> {
    return only(await this.dead())
  }

  /** A receiver of the dead-letter queue, for the caller to close. */
  attachToDead(): TestedReceiver {
    return this.attach(DEAD)
  }

  /** What the entity counts towards its quota. */
  async sizeInBytes(): Promise<number> {
    const { name } = this
    const { broker } = this.#parts
    const properties =
      typeof name === 'string'
        ? await broker.getQueueRuntimeProperties(name)
        : await broker.getSubscriptionRuntimeProperties(name)
    return properties.sizeInBytes
  }

  /**
   * Bodies of what is in the entity and in its dead-letter queue, without being a listener. Two peeks are not one snapshot,
   * so whatever moves messages must have ended before.
   */
  async places(): Promise<{
    readonly here: readonly unknown[]
    readonly dead: readonly unknown[]
  }> {
    await this.#parts.settled()
    return { here: bodies(await this.peek()), dead: bodies(await this.dead()) }
  }
}

/** What a receiver finds now. */
export function receiveNow(
  receiver: TestedReceiver,
  max: number = MANY,
): Promise<ReceivedMessage[]> {
  return receiver.receiveMessages(max, { maxWaitTimeInMs: 0 })
}

export function bodies(messages: readonly ReceivedMessage[]): readonly unknown[] {
  return messages.map(({ body }) => body)
}

/** Of a set that has no order of its own. */
export function sortedBodies(messages: readonly ReceivedMessage[]): readonly string[] {
  return messages.map(({ body }) => String(body)).toSorted()
}

/** Of the one message; fails the test if there is none or more. */
export function only(messages: readonly ReceivedMessage[]): ReceivedMessage {
  const [message] = messages
  if (message === undefined || messages.length > 1) {
    throw new Error(`expected one message, got ${JSON.stringify(bodies(messages))}`)
  }
  return message
}
