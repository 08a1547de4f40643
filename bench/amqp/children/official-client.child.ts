import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { orderDocument } from '../../data/order-document.ts'
import { untilSize } from '../../measuring/latency-figures.ts'
import { latencies, writePaced } from '../../measuring/paced-writes.ts'
import { machineMs, rateOfConcurrent } from '../../measuring/stopwatch.ts'
import { serveClient, type LoadClient } from '../client-requests.ts'
import { TIMED, USER, WORK } from '../queues.ts'

/* The official client, used as its users do. */

/** Calls on their way: single ones, and batches. */
const SINGLES = 32
const BATCHES = 4
const HANDLERS = 100
const FILL_BATCH = 200
/** Without a message for so long, nothing is left. */
const QUIET_MS = 2_000

class OfficialClient implements LoadClient {
  #client: ServiceBusClient | undefined
  #next = 0

  connect(port: number): Promise<void> {
    this.#client = new ServiceBusClient(
      `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=${USER};` +
        `SharedAccessKey=${EMULATOR_ACCESS_KEY};UseDevelopmentEmulator=true;`,
    )
    return Promise.resolve()
  }

  async send({ batch, seconds }: { batch: number; seconds: number }): Promise<number> {
    const sender = this.#connected.createSender(WORK)
    const writers = batch === 1 ? SINGLES : BATCHES
    const { perSecond } = await rateOfConcurrent(
      async () => {
        await sender.sendMessages(batch === 1 ? this.#message() : this.#messages(batch))
        return batch
      },
      { writers, seconds },
    )
    await sender.close()
    return perSecond
  }

  async receive({ credit, seconds }: { credit: number; seconds: number }): Promise<number> {
    const receiver = this.#connected.createReceiver(WORK, { maxAutoLockRenewalDurationInMs: 0 })
    const ended = Promise.withResolvers<void>()
    let [count, startedMs, endedMs] = [0, 0, 0]
    let quiet = setTimeout(() => ended.resolve(), QUIET_MS * 5)
    const subscription = receiver.subscribe(
      {
        async processMessage(message) {
          if (startedMs === 0) {
            startedMs = machineMs()
            clearTimeout(quiet)
            quiet = setTimeout(() => ended.resolve(), seconds * 1000 + QUIET_MS)
          }
          await receiver.completeMessage(message)
          count++
          endedMs = machineMs()
          if (endedMs >= startedMs + seconds * 1000) ended.resolve()
        },
        processError({ error }) {
          ended.reject(error)
          return Promise.resolve()
        },
      },
      { maxConcurrentCalls: credit, autoCompleteMessages: false },
    )
    await ended.promise
    const perSecond = (count / (endedMs - startedMs)) * 1000
    clearTimeout(quiet)
    await subscription.close()
    await receiver.close()
    return perSecond
  }

  async fill(count: number): Promise<void> {
    const sender = this.#connected.createSender(WORK)
    for (let left = count; left > 0; left -= FILL_BATCH) {
      await sender.sendMessages(this.#messages(Math.min(left, FILL_BATCH)))
    }
    await sender.close()
  }

  async trips({
    perSecond,
    seconds,
  }: {
    perSecond: number
    seconds: number
  }): Promise<readonly number[]> {
    const sender = this.#connected.createSender(TIMED)
    const receiver = this.#connected.createReceiver(TIMED, { maxAutoLockRenewalDurationInMs: 0 })
    const arrivals = new Map<number, number>()
    const subscription = receiver.subscribe(
      {
        processMessage({ messageId }) {
          arrivals.set(Number(messageId), machineMs())
          return Promise.resolve()
        },
        processError({ error }) {
          throw error
        },
      },
      { maxConcurrentCalls: HANDLERS },
    )
    const times = await writePaced(
      (revision) =>
        sender.sendMessages({ messageId: String(revision), body: orderDocument(revision) }),
      { perSecond, seconds },
    )
    await untilSize(arrivals, times.acknowledged.size)
    await subscription.close()
    await Promise.all([sender.close(), receiver.close()])
    return latencies(times, arrivals).fromCallMs
  }

  idle(): Promise<void> {
    throw new Error('idle receivers are those of the lean client')
  }

  get #connected(): ServiceBusClient {
    if (this.#client === undefined) throw new Error('it is not connected')
    return this.#client
  }

  #message(): ServiceBusMessage {
    return { body: orderDocument(this.#next++) }
  }

  #messages(count: number): ServiceBusMessage[] {
    return Array.from({ length: count }, () => this.#message())
  }
}

serveClient(new OfficialClient())
