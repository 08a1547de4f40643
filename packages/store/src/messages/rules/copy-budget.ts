import type { NewMessage } from '../message-commands.ts'

/** The most that messages of one transaction may make in subscriptions: all of it is in memory at once. */
const MAX_COPIES = 10_000
const MAX_BYTES = 256 * 1024 * 1024

/** Counts the copies of messages, up to what one transaction may make. */
export class CopyBudget {
  #copies = 0
  #bytes = 0

  /** Counts the copies of these messages. False when they do not fit. */
  takes(messages: readonly Pick<NewMessage, 'bytes' | 'copies'>[]): boolean {
    for (const { bytes, copies } of messages) {
      this.#copies += copies.length
      this.#bytes += copies.length * bytes
    }
    return this.#copies <= MAX_COPIES && this.#bytes <= MAX_BYTES
  }
}
