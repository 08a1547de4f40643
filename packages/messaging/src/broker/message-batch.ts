import type { NewMessage } from '@tidemark/store/messages'
import { encodeMessage } from '../messages/message-codec.ts'
import type { Message } from '../messages/message.ts'
import type { BrokerContext } from './broker-context.ts'

/** Collects messages up to the entity's maximum size. */
export class MessageBatch<Body = unknown> {
  readonly maxSizeInBytes: number
  readonly #context: BrokerContext
  readonly #messages: NewMessage[] = []
  #bytes = 0

  /** Made by the sender. */
  constructor(context: BrokerContext, maxSizeInBytes: number) {
    this.#context = context
    this.maxSizeInBytes = maxSizeInBytes
  }

  get count(): number {
    return this.#messages.length
  }

  get sizeInBytes(): number {
    return this.#bytes
  }

  /** False, and nothing is added, when it does not fit. @throws ERR_INVALID_OPTION */
  tryAddMessage(message: Message<Body>): boolean {
    const encoded = encodeMessage(message, this.#context)
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
