import type { NewMessage } from '../message-commands.ts'

/** The most that messages of one transaction may make in subscriptions: all of it is in memory at once. */
const MAX_COPIES = 10_000
const MAX_BYTES = 256 * 1024 * 1024

/** What actions of rules may add to that for messages that are stored together: changes, and further copies. */
export const MAX_ADDED_BYTES: number = 64 * 1024 * 1024
/** What a further copy takes beside the message. */
export const COPY_BYTES = 1024

/**
 * Counts the copies of messages, up to what one transaction may make. Actions can add copies to the one that a subscription
 * gets: these are counted apart, because no sender is refused for the rules of others.
 */
export class CopyBudget {
  #copies = 0
  #bytes = 0
  #added = 0
  #addedBytes = 0

  /** Counts the copies of these messages. False when those do not fit without which they cannot be sent. */
  takes(messages: readonly Pick<NewMessage, 'bytes' | 'copies'>[]): boolean {
    for (const { bytes, copies } of messages) {
      const subscriptions = subscriptionsOf(copies)
      this.#copies += subscriptions
      this.#bytes += subscriptions * bytes
      this.#added += copies.length - subscriptions
      this.#addedBytes += (copies.length - subscriptions) * (bytes + COPY_BYTES)
      for (const { changedBytes } of copies) this.#addedBytes += changedBytes
    }
    return this.#copies <= MAX_COPIES && this.#bytes <= MAX_BYTES
  }

  /** With what actions have added it is more than messages of several calls should be. */
  get isFull(): boolean {
    return this.#copies + this.#added > MAX_COPIES || this.#addedBytes > MAX_ADDED_BYTES
  }
}

/**
 * The bytes for which there must be room where a message arrives: one copy for each subscription, and itself if there are none. What
 * actions add counts when it is there, but refuses no sender before.
 */
export function arrivingBytes({ bytes, copies }: Pick<NewMessage, 'bytes' | 'copies'>): number {
  return bytes * Math.max(1, subscriptionsOf(copies))
}

function subscriptionsOf(copies: NewMessage['copies']): number {
  return new Set(copies.map(({ subscription }) => subscription)).size
}
