import { InvalidOptionError } from '@tidemark/contracts'
import { checkOptions, describeValue, option, type OptionRules } from '@tidemark/contracts/internal'
import type { NewMessage, OutgoingMessages } from '@tidemark/store/messages'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { encodeMessage } from '../messages/message-codec.ts'
import type { Message } from '../messages/message.ts'
import { epochMsOf } from '../platform/utc-date.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import { MessageBatch } from './message-batch.ts'
import { ObservedCalls } from './observed-calls.ts'
import { SenderOutbox } from './sender-outbox.ts'
import { cancelScheduled, sendStored } from './send-stored.ts'
import { checkedSequenceNumbers } from './receiver-options.ts'

interface SendOptions {
  /** Rejects with its reason. A message that is on its way by then is sent nevertheless. @default none */
  readonly signal?: AbortSignal | undefined
}

const SEND_RULES: OptionRules<SendOptions> = { signal: option.signal }

export interface OutgoingOptions {
  /** When they are enqueued; an instant that has passed means at once. @default each message's own, or at once */
  readonly scheduledEnqueueTimeUtc?: Date | undefined
}

const OUTGOING_RULES: OptionRules<OutgoingOptions> = { scheduledEnqueueTimeUtc: option.anything }

/** Sends to a queue or topic. Holds nothing: closing it only ends its use. */
export class MessageSender<Body = unknown> {
  readonly entityPath: string
  readonly #context: BrokerContext
  readonly #commands: EntityCommands
  readonly #calls: ObservedCalls
  #isClosed = false

  /** Made by the broker. */
  constructor(context: BrokerContext, entityPath: string) {
    this.#context = context
    this.entityPath = entityPath
    this.#commands = context.commands(entityPath)
    this.#calls = new ObservedCalls(context.telemetry, entityPath)
  }

  /** Together: all or none. Resolves when they are durable. */
  async sendMessages(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
    options: SendOptions = {},
  ): Promise<void> {
    this.#assertOpen(options)
    await this.#calls.send('send', sentOf(messages), async () => {
      const encoded = this.#encode(messages)
      await this.#context.whileOpen(() => this.#send(encoded, options))
    })
  }

  async createMessageBatch(
    options: { readonly maxSizeInBytes?: number | undefined } = {},
  ): Promise<MessageBatch<Body>> {
    this.#assertOpen({})
    const { settings } = await this.#context.whileOpen(() => this.#commands.record())
    const { maxMessageBytes } = settings
    const { maxSizeInBytes = maxMessageBytes } = options
    if (!(maxSizeInBytes > 0 && maxSizeInBytes <= maxMessageBytes)) {
      throw new InvalidOptionError(
        `maxSizeInBytes must be above 0 and at most ${maxMessageBytes}, got ${describeValue(maxSizeInBytes)}`,
      )
    }
    return new MessageBatch(this.#context, maxSizeInBytes)
  }

  /** Resolves with sequence numbers, by which the messages can be cancelled until they are enqueued. */
  async scheduleMessages(
    messages: Message<Body> | readonly Message<Body>[],
    scheduledEnqueueTimeUtc: Date,
    options: SendOptions = {},
  ): Promise<readonly number[]> {
    this.#assertOpen(options)
    const numbers = await this.#calls.send('schedule', sentOf(messages), async () => {
      const encoded = scheduled(this.#encode(messages), scheduledEnqueueTimeUtc)
      return this.#context.whileOpen(() => this.#send(encoded, options))
    })
    // A duplicate has none of its own: nothing can be cancelled by 0.
    return numbers.map((number) => number ?? 0)
  }

  /**
   * Messages for the option `messages` of a `batch` or of `commitAtomically` in the same database: they are delivered if and
   * only if it commits. Does no I/O, and sends nothing by itself.
   *
   * @throws ERR_INVALID_OPTION, ERR_LINK_CLOSED
   */
  outgoing(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
    options: OutgoingOptions = {},
  ): OutgoingMessages {
    checkOptions(options, OUTGOING_RULES)
    this.#assertOpen({})
    const { scheduledEnqueueTimeUtc: at } = options
    const encoded = this.#encode(messages)
    return new SenderOutbox({
      context: this.#context,
      commands: this.#commands,
      messages: at === undefined ? encoded : scheduled(encoded, at),
      assertOpen: () => this.#assertOpen({}),
    })
  }

  async cancelScheduledMessages(
    sequenceNumbers: number | readonly number[],
    options: SendOptions = {},
  ): Promise<void> {
    this.#assertOpen(options)
    const numbers = checkedSequenceNumbers(sequenceNumbers)
    await this.#calls.send('cancel', { count: numbers.length }, () =>
      this.#context.whileOpen(() => cancelScheduled(this.#commands, numbers)),
    )
  }

  /** Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true
    return Promise.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #send(
    messages: readonly NewMessage[],
    { signal }: SendOptions,
  ): Promise<readonly (number | undefined)[]> {
    return sendStored(this.#commands, messages, signal)
  }

  #encode(
    messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>,
  ): readonly NewMessage[] {
    if (messages instanceof MessageBatch) return messages.encoded
    const list: readonly Message<Body>[] = isList(messages) ? messages : [messages]
    return list.map((message) => encodeMessage(message, this.#context))
  }

  #assertOpen(options: SendOptions): void {
    checkOptions(options, SEND_RULES)
    if (this.#isClosed) throw new LinkClosedError(`the sender to '${this.entityPath}'`)
    options.signal?.throwIfAborted()
  }
}

/** For a span. Messages that were added to a batch have their trace contexts in them. */
function sentOf<Body>(messages: Message<Body> | readonly Message<Body>[] | MessageBatch<Body>): {
  readonly count: number
  readonly items?: readonly Message<Body>[]
} {
  if (messages instanceof MessageBatch) return { count: messages.count }
  const items = isList(messages) ? messages : [messages]
  return { count: items.length, items }
}

function scheduled(messages: readonly NewMessage[], at: Date): readonly NewMessage[] {
  const scheduledMs = epochMsOf(at)
  if (scheduledMs === undefined) {
    throw new InvalidOptionError(`scheduledEnqueueTimeUtc must be a date, got ${describeValue(at)}`)
  }
  return messages.map((message) => ({ ...message, scheduledMs }))
}

function isList<Item>(value: Item | readonly Item[]): value is readonly Item[] {
  return Array.isArray(value)
}
