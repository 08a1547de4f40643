import { setTimeout as sleep } from 'node:timers/promises'
import {
  ServiceBusClient,
  type ServiceBusReceiver,
  type ServiceBusSender,
} from '@azure/service-bus'

/** A message that takes longer to arrive hangs, however busy the machine is. */
const HANG_MS = 60_000
/** A client that has something else to do between its messages. */
const PAUSE_MS = 5
/** Every so many messages it connects again. */
const NEW_CONNECTION_EVERY = 200

export interface BystanderReport {
  /** From the call that sends to the handler that receives, in ms, the shortest first. */
  readonly arrivalsMs: readonly number[]
  readonly wrong: readonly string[]
}

/** The official client, which sends to a queue of its own and receives from it all the time: every message must arrive. */
export class AmqpBystander {
  readonly #connectionString: string
  readonly #queue: string
  readonly #arrivalsMs: number[] = []
  readonly #wrong: string[] = []
  /** When those that have not arrived were sent. */
  readonly #awaited = new Map<number, number>()
  readonly #sending: Promise<void>
  #client: ServiceBusClient | undefined
  #isStopped = false

  constructor({
    connectionString,
    queue,
  }: {
    readonly connectionString: string
    readonly queue: string
  }) {
    this.#connectionString = connectionString
    this.#queue = queue
    this.#sending = this.#sendOn()
  }

  /** Resolves when so many more have arrived. Rejects when they do not, or something went wrong. */
  async arrive(count: number): Promise<void> {
    const until = this.#arrivalsMs.length + count
    const deadline = performance.now() + HANG_MS
    while (this.#arrivalsMs.length < until) {
      if (this.#wrong.length > 0) throw new Error(`another client: ${this.#wrong.join('; ')}`)
      if (performance.now() > deadline) {
        throw new Error(`another client waits for ${this.#awaited.size} messages`)
      }
      await sleep(PAUSE_MS)
    }
  }

  /** Sends no more, and waits until all have arrived. */
  async stop(): Promise<BystanderReport> {
    this.#isStopped = true
    await this.#sending
    return {
      arrivalsMs: this.#arrivalsMs.toSorted((a, b) => a - b),
      wrong: this.#wrong,
    }
  }

  async #sendOn(): Promise<void> {
    try {
      for (let number = 0; !this.#isStopped;) {
        const client = new ServiceBusClient(this.#connectionString)
        this.#client = client
        const receiver = client.createReceiver(this.#queue)
        const subscription = this.#receive(receiver)
        const sender = client.createSender(this.#queue)
        number = await this.#sendSome(sender, number)
        await this.#allArrived()
        await subscription.close()
        // In this order: a link that the client closes with its connection never hears the answer.
        await receiver.close()
        await sender.close()
        await client.close()
      }
    } catch (error) {
      this.#wrong.push(String(error))
    } finally {
      await this.#client?.close().catch(() => undefined)
    }
  }

  async #sendSome(sender: ServiceBusSender, from: number): Promise<number> {
    let number = from
    while (!this.#isStopped && number - from < NEW_CONNECTION_EVERY) {
      this.#awaited.set(number, performance.now())
      await sender.sendMessages({ body: number })
      number += 1
      await sleep(PAUSE_MS)
    }
    return number
  }

  #receive(receiver: ServiceBusReceiver): { close(): Promise<void> } {
    return receiver.subscribe({
      processMessage: ({ body }) => {
        const sentMs = this.#awaited.get(Number(body))
        if (sentMs === undefined) this.#wrong.push(`message ${String(body)} came again`)
        else this.#arrivalsMs.push(performance.now() - sentMs)
        this.#awaited.delete(Number(body))
        return Promise.resolve()
      },
      processError: ({ error }) => {
        this.#wrong.push(String(error))
        return Promise.resolve()
      },
    })
  }

  async #allArrived(): Promise<void> {
    const deadline = performance.now() + HANG_MS
    while (this.#awaited.size > 0) {
      if (performance.now() > deadline) throw new Error(`${this.#awaited.size} messages are lost`)
      await sleep(PAUSE_MS)
    }
  }
}
