import type { Clock } from '@tidemark/contracts'
import {
  openMessaging,
  type Message,
  type MessageBroker,
  type MessageReceiver,
  type MessageSender,
  type QueueOptions,
} from '@tidemark/messaging'
import { openStoreIn } from '../store/open-bench-store.ts'
import { MessageBodies, type Body } from './message-bodies.ts'
import type { CalledQueue } from './queue-rates.ts'

const DATABASE = 'messages'

export interface BenchBroker extends AsyncDisposable {
  readonly broker: MessageBroker
}

/** A broker over a store in a folder, or in the PostgreSQL database of a URL. */
export async function openBenchBroker(
  place: string,
  { clock }: { readonly clock?: Clock | undefined } = {},
): Promise<BenchBroker> {
  const store = await openStoreIn(place, { clock })
  const database = await store.createDatabaseIfNotExists(DATABASE)
  const broker = openMessaging(database, { clock })
  return {
    broker,
    async [Symbol.asyncDispose]() {
      await broker.close()
      await store.close()
    },
  }
}

/** A queue of ours, used as our users do. */
export class OwnQueue implements CalledQueue {
  readonly #sender: MessageSender<Body>
  readonly #receiver: MessageReceiver<Body>
  readonly #bodies = new MessageBodies()

  private constructor(broker: MessageBroker, name: string) {
    this.#sender = broker.createSender<Body>(name)
    this.#receiver = broker.createReceiver<Body>(name)
  }

  static async create(
    broker: MessageBroker,
    name: string,
    options: QueueOptions = {},
  ): Promise<OwnQueue> {
    // Locks last longer than a measurement, and quotas are not what is measured.
    await broker.createQueue(name, { lockDuration: 'PT5M', maxSizeInMegabytes: 81_920, ...options })
    return OwnQueue.open(broker, name)
  }

  static open(broker: MessageBroker, name: string): OwnQueue {
    return new OwnQueue(broker, name)
  }

  async send(count: number): Promise<void> {
    await this.#sender.sendMessages(this.#messages(count))
  }

  async schedule(count: number, at: Date): Promise<void> {
    await this.#sender.scheduleMessages(this.#messages(count), at)
  }

  /** Messages that expire. */
  async sendExpiring(count: number, timeToLive: number): Promise<void> {
    const messages = this.#messages(count).map((message) => ({ ...message, timeToLive }))
    await this.#sender.sendMessages(messages)
  }

  async take(count: number): Promise<number> {
    const messages = await this.#receiver.receiveMessages(count, { maxWaitTimeInMs: 0 })
    await Promise.all(messages.map((message) => this.#receiver.completeMessage(message)))
    return messages.length
  }

  /** Receives and leaves them locked. Resolves with how many. */
  async lock(count: number): Promise<number> {
    const messages = await this.#receiver.receiveMessages(count, { maxWaitTimeInMs: 0 })
    return messages.length
  }

  /** Takes what comes from now on. */
  subscribe(): void {
    this.#receiver.subscribe({
      processMessage: () => Promise.resolve(),
      processError({ error }) {
        throw error
      },
    })
  }

  async deadLetter(count: number): Promise<number> {
    const messages = await this.#receiver.receiveMessages(count, { maxWaitTimeInMs: 0 })
    await Promise.all(messages.map((message) => this.#receiver.deadLetterMessage(message)))
    return messages.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.close()
    await this.#sender.close()
  }

  #messages(count: number): readonly Message<Body>[] {
    return this.#bodies.many(count).map((body) => ({ body }))
  }
}
