import type {
  Change,
  ChangeFeedSource,
  DocumentBody,
  FeedMode,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import { MessageSizeExceededError, type Message, type MessageBatch } from '@tidemark/messaging'
import { KnownFeed } from '../workers/change-identity.ts'
import { messagesOf, type MapChange } from './change-message.ts'
import type { ForwardEvent } from './forward-events.ts'
import type { ForwardTarget } from './forward-options.ts'

export interface ForwardingParts<T extends DocumentBody> {
  readonly feed: ChangeFeedSource<T>
  readonly mode: FeedMode | undefined
  readonly to: ForwardTarget
  readonly filter: ((change: Change<T>) => boolean) | undefined
  readonly map: MapChange<T> | undefined
  readonly emit: (event: ForwardEvent) => void
}

/** Sends the changes of one leased range, in their order. */
export class ForwardingObserver<T extends DocumentBody> implements IChangeFeedObserver<T> {
  readonly #parts: ForwardingParts<T>
  readonly #feed: KnownFeed<T>

  constructor(parts: ForwardingParts<T>) {
    this.#parts = parts
    this.#feed = new KnownFeed(parts.feed, parts.mode)
  }

  async open(context: ObserverContext): Promise<void> {
    await this.#feed.open(context)
  }

  /** Resolves when the messages are durable; the host stores the position only then. */
  async processChanges(context: ObserverContext, changes: readonly Change<T>[]): Promise<void> {
    const { leaseId, signal } = context
    const { to, filter, map, emit } = this.#parts
    const from = await this.#feed.at(context)
    const chosen = filter === undefined ? changes : changes.filter(filter)
    const messages = chosen.flatMap((change) => messagesOf(from, change, map))
    const last = changes.at(-1)
    if (last === undefined || messages.length === 0) return
    // All are made before the first is sent: a change that cannot be sent holds up no half of a batch.
    const batches = await batchesOf(to, messages)
    for (const batch of batches) {
      signal.throwIfAborted()
      await to.sendMessages(batch, { signal })
    }
    const counts = { changes: changes.length, messages: messages.length, lsn: last.lsn }
    emit({ kind: 'forwarded', leaseId, epoch: context.fence.epoch, ...counts })
  }
}

/** As few as the size allows. @throws ERR_MESSAGE_SIZE_EXCEEDED when a message is too large for any, ERR_INVALID_OPTION */
async function batchesOf(
  to: ForwardTarget,
  messages: readonly Message[],
): Promise<readonly MessageBatch[]> {
  let batch = await to.createMessageBatch()
  const batches = [batch]
  for (const message of messages) {
    if (batch.tryAddMessage(message)) continue
    if (batch.count > 0) {
      batch = await to.createMessageBatch()
      batches.push(batch)
      if (batch.tryAddMessage(message)) continue
    }
    const { entityPath } = to
    throw new MessageSizeExceededError({ entityPath, maxBytes: batch.maxSizeInBytes })
  }
  return batches
}
