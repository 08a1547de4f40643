import type { Random } from '@tidemark/contracts'
import type { NewMessage } from '@tidemark/store/messages'
import { encodeMessage } from '../messages/message-codec.ts'
import type { Message } from '../messages/message.ts'

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

  /** False, and nothing is added, when it does not fit. @throws ERR_INVALID_OPTION */
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
