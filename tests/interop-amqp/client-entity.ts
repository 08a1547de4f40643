import type {
  ServiceBusClient,
  ServiceBusMessage,
  ServiceBusReceivedMessage,
  ServiceBusReceiver,
  ServiceBusReceiverOptions,
  ServiceBusRuleManager,
  ServiceBusSender,
  ServiceBusSessionReceiver,
  ServiceBusSessionReceiverOptions,
} from '@azure/service-bus'
import Long from 'long'
import { expect } from 'vitest'

/** Long enough for any machine: a receive ends as soon as it has what it waits for. */
const LONG_WAIT_MS = 30_000
const MANY = 500

/** What cases do with one queue, topic or subscription through one client. Sends to a subscription go to its topic. */
export class ClientEntity {
  readonly client: ServiceBusClient
  readonly name: string
  readonly subscription: string | undefined
  #sender: ServiceBusSender | undefined
  #receiver: ServiceBusReceiver | undefined

  constructor(client: ServiceBusClient, name: string, subscription?: string) {
    this.client = client
    this.name = name
    this.subscription = subscription
  }

  /** The same one through another client. */
  through(client: ServiceBusClient): ClientEntity {
    return new ClientEntity(client, this.name, this.subscription)
  }

  get sender(): ServiceBusSender {
    this.#sender ??= this.client.createSender(this.name)
    return this.#sender
  }

  /** One receiver under locks, made at the first use. */
  get receiver(): ServiceBusReceiver {
    this.#receiver ??= this.open()
    return this.#receiver
  }

  get rules(): ServiceBusRuleManager {
    return this.client.createRuleManager(this.name, this.subscription ?? '')
  }

  open(options: ServiceBusReceiverOptions = {}): ServiceBusReceiver {
    return this.subscription === undefined
      ? this.client.createReceiver(this.name, options)
      : this.client.createReceiver(this.name, this.subscription, options)
  }

  openDead(options: ServiceBusReceiverOptions = {}): ServiceBusReceiver {
    return this.open({ ...options, subQueueType: 'deadLetter' })
  }

  accept(
    sessionId: string,
    options: ServiceBusSessionReceiverOptions = {},
  ): Promise<ServiceBusSessionReceiver> {
    return this.subscription === undefined
      ? this.client.acceptSession(this.name, sessionId, options)
      : this.client.acceptSession(this.name, this.subscription, sessionId, options)
  }

  acceptNext(options: ServiceBusSessionReceiverOptions = {}): Promise<ServiceBusSessionReceiver> {
    return this.subscription === undefined
      ? this.client.acceptNextSession(this.name, options)
      : this.client.acceptNextSession(this.name, this.subscription, options)
  }

  /** Together, if there are several. A text is the body of a message without options. */
  async send(...messages: readonly (ServiceBusMessage | string)[]): Promise<void> {
    const given = messages.map((message) =>
      typeof message === 'string' ? { body: message } : message,
    )
    const [first] = given
    await this.sender.sendMessages(given.length === 1 && first !== undefined ? first : given)
  }

  /** So many messages, in their order. */
  receive(count: number): Promise<ServiceBusReceivedMessage[]> {
    return receive(this.receiver, count)
  }

  receiveOne(): Promise<ServiceBusReceivedMessage> {
    return receiveOne(this.receiver)
  }

  /** What is there now. Its receiver is a listener from now on. */
  receiveNow(): Promise<ServiceBusReceivedMessage[]> {
    return receiveNow(this.receiver)
  }

  /** Everything that is there, without listening. */
  async peek(): Promise<ServiceBusReceivedMessage[]> {
    return peekAll(this.open())
  }

  async peekOne(): Promise<ServiceBusReceivedMessage> {
    return only(await this.peek())
  }

  async peekDead(): Promise<ServiceBusReceivedMessage[]> {
    return peekAll(this.openDead())
  }

  /** Bodies of what is here and in the dead-letter queue. */
  async places(): Promise<{
    readonly here: readonly unknown[]
    readonly dead: readonly unknown[]
  }> {
    return { here: bodies(await this.peek()), dead: bodies(await this.peekDead()) }
  }

  /** Waits until this is where messages are. */
  async settlesAt(wanted: {
    readonly here: readonly unknown[]
    readonly dead: readonly unknown[]
  }): Promise<void> {
    await expect.poll(() => this.places()).toEqual(wanted)
  }
}

export async function receive(
  receiver: ServiceBusReceiver,
  count: number,
): Promise<ServiceBusReceivedMessage[]> {
  const all: ServiceBusReceivedMessage[] = []
  while (all.length < count) {
    const messages = await receiver.receiveMessages(count - all.length, {
      maxWaitTimeInMs: LONG_WAIT_MS,
    })
    if (messages.length === 0) throw new Error(`${count} messages were expected, got ${all.length}`)
    all.push(...messages)
  }
  return all
}

export async function receiveOne(receiver: ServiceBusReceiver): Promise<ServiceBusReceivedMessage> {
  return only(await receive(receiver, 1))
}

export function receiveNow(
  receiver: ServiceBusReceiver,
  count: number = MANY,
): Promise<ServiceBusReceivedMessage[]> {
  return receiver.receiveMessages(count, { maxWaitTimeInMs: 0 })
}

/** Piece by piece, until nothing comes. */
async function peekAll(receiver: ServiceBusReceiver): Promise<ServiceBusReceivedMessage[]> {
  const all: ServiceBusReceivedMessage[] = []
  for (let from = Long.ZERO; ;) {
    const messages = await receiver.peekMessages(MANY, { fromSequenceNumber: from })
    const last = messages.at(-1)
    if (last === undefined) return all
    all.push(...messages)
    from = numberOf(last).add(1)
  }
}

export function bodies(messages: readonly ServiceBusReceivedMessage[]): readonly unknown[] {
  return messages.map((message): unknown => message.body)
}

/** Of a set that has no order of its own. */
export function sortedBodies(messages: readonly ServiceBusReceivedMessage[]): readonly string[] {
  return messages.map(({ body }) => String(body)).toSorted()
}

/** The one message; fails the case if there is none or more. */
export function only(messages: readonly ServiceBusReceivedMessage[]): ServiceBusReceivedMessage {
  const [message] = messages
  if (message === undefined || messages.length > 1) {
    throw new Error(`one message was expected, got ${JSON.stringify(bodies(messages))}`)
  }
  return message
}

/** The sequence number, which a message from the broker always has. */
export function numberOf({ sequenceNumber }: ServiceBusReceivedMessage): Long {
  if (sequenceNumber === undefined) throw new Error('a message without a sequence number')
  return sequenceNumber
}

/** The expiry as epoch ms. */
export function expiryOf({ expiresAtUtc }: ServiceBusReceivedMessage): number {
  return expiresAtUtc?.getTime() ?? Number.NaN
}

export function enqueuedOf({ enqueuedTimeUtc }: ServiceBusReceivedMessage): number {
  return enqueuedTimeUtc?.getTime() ?? Number.NaN
}
