import type {
  Message,
  MessageBroker,
  MessageReceiver,
  MessageSender,
  ReceivedMessage,
  ReceiverOptions,
  SessionReceiver,
  SubscriptionName,
} from '@tidemark/messaging'

export type EntityName = string | SubscriptionName

const MANY = 1000
const DEAD = { subQueueType: 'deadLetter' } as const

/** What tests do with one queue or subscription. Sends to a subscription go to its topic. */
export class TestedEntity {
  readonly broker: MessageBroker
  readonly name: EntityName
  readonly sender: MessageSender
  readonly #settled: () => Promise<void>
  #receiver: MessageReceiver | undefined

  /** `settled` resolves when nothing happens any more until time passes. */
  constructor(broker: MessageBroker, name: EntityName, settled: () => Promise<void>) {
    this.broker = broker
    this.name = name
    this.#settled = settled
    this.sender = broker.createSender(typeof name === 'string' ? name : name.topic)
  }

  /** The same one through another broker. */
  through(broker: MessageBroker): TestedEntity {
    return new TestedEntity(broker, this.name, this.#settled)
  }

  /** Together. A text is the body of a message without options. */
  async send(...messages: readonly (Message | string)[]): Promise<void> {
    await this.sender.sendMessages(
      messages.map((message) => (typeof message === 'string' ? { body: message } : message)),
    )
  }

  /** One receiver, made at the first use; `detach` closes it. */
  get receiver(): MessageReceiver {
    this.#receiver ??= this.attach()
    return this.#receiver
  }

  attach(options: ReceiverOptions = {}): MessageReceiver {
    return this.broker.createReceiver(this.name, options)
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

  accept(sessionId: string): Promise<SessionReceiver> {
    return this.broker.acceptSession(this.name, sessionId)
  }

  /** A session that is free and has messages now. */
  acceptNext(maxWaitTimeInMs: number = 0): Promise<SessionReceiver> {
    return this.broker.acceptNextSession(this.name, { maxWaitTimeInMs })
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
  attachToDead(): MessageReceiver {
    return this.attach(DEAD)
  }

  /** What the entity counts towards its quota. */
  async sizeInBytes(): Promise<number> {
    const { name, broker } = this
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
    await this.#settled()
    return { here: bodies(await this.peek()), dead: bodies(await this.dead()) }
  }
}

/** What a receiver finds now. */
export function receiveNow(
  receiver: MessageReceiver,
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
