import { assertNever, InvalidOptionError, type Random } from '@tidemark/contracts'
import type { EntityRecord, NewMessage, Parcel, ParcelAnswer } from '@tidemark/store/messages'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { MessageNotFoundError } from '../errors/message-not-found-error.ts'
import { MessageSizeExceededError, QuotaExceededError } from '../errors/messaging-limit-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { encodeMessage, parseHead } from '../messages/message-codec.ts'
import type { Message } from '../messages/message.ts'
import { epochMsOf } from '../platform/utc-date.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import { judgeArrival } from './fan-out.ts'
import { checkedSequenceNumbers } from './receiver-options.ts'

/** Collects messages up to the entity's maximum size. */
export class MessageBatch<Body = unknown> {
  readonly maxSizeInBytes: number
  readonly #random: Random
  readonly #messages: NewMessage[] = []
  #bytes = 0

  /** Made by the sender. */
  constructor(random: Random, maxSizeInBytes: number) {
    this.#random = random
    this.maxSizeInBytes = maxSizeInBytes
  }

  get count(): number {
    return this.#messages.length
  }

  get sizeInBytes(): number {
    return this.#bytes
  }

  /** False, and nothing is added, when it does not fit. */
  tryAddMessage(message: Message<Body>): boolean {
    const encoded = encodeMessage(message, this.#random)
    if (this.#bytes + encoded.bytes > this.maxSizeInBytes) return false
    this.#messages.push(encoded)
    this.#bytes += encoded.bytes
    return true
  }

  /** For the sender. */
  get encoded(): readonly NewMessage[] {
    return this.#messages
  }
}

interface SendOptions {
  readonly signal?: AbortSignal | undefined
}

export class MessageSender<Body = unknown> {
  readonly entityPath: string
  readonly #context: BrokerContext
  readonly #commands: EntityCommands
  #isClosed = false

  /** Made by the broker. */
  constructor(context: BrokerContext, entityPath: string) {
    this.#context = context
    this.entityPath = entityPath
    this.#commands = context.commands(entityPath)
  }

  /** Together: all or none. Resolves when they are durable. */
  async sendMessages(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
    options: SendOptions = {},
  ): Promise<void> {
    this.#assertOpen(options)
    await this.#send(this.#encode(messages))
  }

  async createMessageBatch(
    options: { readonly maxSizeInBytes?: number | undefined } = {},
  ): Promise<MessageBatch<Body>> {
    this.#assertOpen({})
    const { maxMessageBytes } = (await this.#commands.record()).settings
    const { maxSizeInBytes = maxMessageBytes } = options
    if (!(maxSizeInBytes > 0 && maxSizeInBytes <= maxMessageBytes)) {
      throw new InvalidOptionError(
        `maxSizeInBytes must be above 0 and at most ${maxMessageBytes}, got ${maxSizeInBytes}`,
      )
    }
    return new MessageBatch(this.#context.random, maxSizeInBytes)
  }

  /** Resolves with sequence numbers, by which the messages can be cancelled until they are enqueued. */
  async scheduleMessages(
    messages: Message<Body> | readonly Message<Body>[],
    scheduledEnqueueTimeUtc: Date,
    options: SendOptions = {},
  ): Promise<readonly number[]> {
    this.#assertOpen(options)
    const scheduledMs = epochMsOf(scheduledEnqueueTimeUtc)
    if (scheduledMs === undefined) {
      throw new InvalidOptionError('scheduledEnqueueTimeUtc must be a date')
    }
    const encoded = this.#encode(messages).map((message) => ({ ...message, scheduledMs }))
    const numbers = await this.#send(encoded)
    // A duplicate has none of its own: nothing can be cancelled by 0.
    return numbers.map((number) => number ?? 0)
  }

  async cancelScheduledMessages(
    sequenceNumbers: number | readonly number[],
    options: SendOptions = {},
  ): Promise<void> {
    this.#assertOpen(options)
    const numbers = checkedSequenceNumbers(sequenceNumbers)
    const { answer } = await this.#commands.perform('cancel', { numbers })
    if (answer.kind === 'cancelled') return
    throw new MessageNotFoundError({
      entityPath: this.entityPath,
      sequenceNumber: answer.number,
    })
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true
    return Promise.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #send(messages: readonly NewMessage[]): Promise<readonly (number | undefined)[]> {
    if (messages.length === 0) return []
    const { answer } = await this.#commands.perform('send', (record) => ({
      version: record.version,
      parcels: [this.#parcel(record, messages)],
    }))
    const [parcel] = answer.parcels
    if (parcel?.kind === 'sent') return parcel.numbers
    throw await this.#refused(parcel)
  }

  #parcel(record: EntityRecord, messages: readonly NewMessage[]): Parcel {
    if (record.kind !== 'topic') return { messages }
    const judge = judgeArrival(this.#context, record)
    return {
      messages: messages.map((message) => ({
        ...message,
        copies: judge({ head: parseHead(message.head) }),
      })),
    }
  }

  async #refused(answer: Exclude<ParcelAnswer, { kind: 'sent' }> | undefined): Promise<Error> {
    const { path: entityPath, settings } = await this.#commands.record()
    if (answer === undefined) return new Error(`no answer for a parcel of '${entityPath}'`)
    switch (answer.kind) {
      case 'full':
        return new QuotaExceededError({ entityPath, maxBytes: settings.maxBytes })
      case 'tooLarge':
        return new MessageSizeExceededError({ entityPath, maxBytes: settings.maxMessageBytes })
      case 'needsSession':
        return new MessagingNotAllowedError(
          `'${entityPath}' requires sessions: each message needs a sessionId`,
        )
      default:
        return assertNever(answer)
    }
  }

  #encode(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
  ): readonly NewMessage[] {
    if (messages instanceof MessageBatch) return messages.encoded
    const list: readonly Message<Body>[] = isList(messages) ? messages : [messages]
    return list.map((message) => encodeMessage(message, this.#context.random))
  }

  #assertOpen({ signal }: SendOptions): void {
    if (this.#isClosed) throw new LinkClosedError(`the sender to '${this.entityPath}'`)
    signal?.throwIfAborted()
  }
}

function isList<Item>(value: Item | readonly Item[]): value is readonly Item[] {
  return Array.isArray(value)
}
