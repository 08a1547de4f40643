import { once } from 'node:events'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import rhea, {
  type Connection,
  type EventContext,
  type Message,
  type Receiver,
  type Sender,
  type Session,
} from 'rhea'
import { orderDocument } from '../../data/order-document.ts'
import { untilSize } from '../../measuring/latency-figures.ts'
import { latencies, writePaced } from '../../measuring/paced-writes.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { serveClient, type LoadClient } from '../client-requests.ts'
import { ACCEPTED, BATCH_FORMAT } from '../on-wire.ts'
import { IDLE, TIMED, USER, WORK } from '../queues.ts'

/* A client on bare rhea that sends the same bytes over and over: it costs less than any server, which is then the limit. */

/** Transfers on their way: single ones, and batches. */
const SINGLES = 64
const BATCHES = 8
const CREDIT = 100
const FILL_BATCH = 200
/** Without a message for so long, nothing is left. */
const QUIET_MS = 2_000

class LeanClient implements LoadClient {
  #connection: Connection | undefined
  #port = 0
  readonly #batches = new Map<number, Buffer>()

  async connect(port: number): Promise<void> {
    this.#port = port
    this.#connection = await this.#open()
  }

  async send({ batch, seconds }: { batch: number; seconds: number }): Promise<number> {
    const startedMs = machineMs()
    const isOver = (): boolean => machineMs() >= startedMs + seconds * 1000
    const count = await this.#sendWhile(() => !isOver(), batch)
    return (count / (machineMs() - startedMs)) * 1000
  }

  async fill(count: number): Promise<void> {
    let left = Math.ceil(count / FILL_BATCH)
    await this.#sendWhile(() => left-- > 0, FILL_BATCH)
  }

  async receive({ credit, seconds }: { credit: number; seconds: number }): Promise<number> {
    const receiver = this.#receiver(WORK)
    const ended = Promise.withResolvers<void>()
    let [count, startedMs, endedMs] = [0, 0, 0]
    let quiet = setTimeout(() => ended.resolve(), QUIET_MS * 5)
    receiver.on('message', ({ delivery }: EventContext) => {
      if (startedMs === 0) {
        startedMs = machineMs()
        clearTimeout(quiet)
        quiet = setTimeout(() => ended.resolve(), seconds * 1000 + QUIET_MS)
      }
      delivery?.update(false, ACCEPTED)
    })
    receiver.on('settled', ({ delivery }: EventContext) => {
      delivery?.update(true)
      count++
      endedMs = machineMs()
      if (endedMs >= startedMs + seconds * 1000) ended.resolve()
      else receiver.add_credit(1)
    })
    receiver.add_credit(credit)
    await ended.promise
    clearTimeout(quiet)
    await closed(receiver)
    return (count / (endedMs - startedMs)) * 1000
  }

  async trips({
    perSecond,
    seconds,
  }: {
    perSecond: number
    seconds: number
  }): Promise<readonly number[]> {
    const arrivals = new Map<number, number>()
    const receiver = this.#receiver(TIMED)
    receiver.on('message', ({ message, delivery }: EventContext) => {
      arrivals.set(Number(message?.message_id), machineMs())
      delivery?.update(false, ACCEPTED)
    })
    receiver.on('settled', ({ delivery }: EventContext) => {
      delivery?.update(true)
      receiver.add_credit(1)
    })
    receiver.add_credit(CREDIT)
    const sender = this.#sender(TIMED)
    await once(sender, 'sendable')
    const waiting = new Map<number, () => void>()
    sender.on('accepted', ({ delivery }: EventContext) => waiting.get(delivery?.id ?? -1)?.())
    const times = await writePaced(
      (revision) =>
        new Promise((resolve) => {
          const { id } = sender.send(encoded(revision), undefined, 0)
          waiting.set(id, resolve)
        }),
      { perSecond, seconds },
    )
    await untilSize(arrivals, times.acknowledged.size)
    await Promise.all([closed(receiver), closed(sender)])
    return latencies(times, arrivals).fromCallMs
  }

  async idle(receivers: number): Promise<void> {
    for (let index = 0; index < receivers; index++) {
      const receiver = receiverOf(await this.#open(), IDLE)
      await once(receiver, 'receiver_open')
      receiver.add_credit(CREDIT)
    }
  }

  async #open(): Promise<Connection> {
    const connection = rhea.create_container().connect({
      host: '127.0.0.1',
      port: this.#port,
      username: USER,
      password: EMULATOR_ACCESS_KEY,
      reconnect: false,
    })
    await once(connection, 'connection_open')
    return connection
  }

  /** Resolves with how many messages were sent when all are accepted. */
  async #sendWhile(goesOn: () => boolean, batch: number): Promise<number> {
    const sender = this.#sender(WORK)
    const bytes = this.#bytesOf(batch)
    const window = batch === 1 ? SINGLES : BATCHES
    const ended = Promise.withResolvers<void>()
    let [sent, accepted, isOver] = [0, 0, false]
    const sendMore = (): void => {
      while (!isOver && sent - accepted < window && sender.sendable()) {
        isOver = !goesOn()
        if (isOver) break
        sender.send(bytes, undefined, batch === 1 ? 0 : BATCH_FORMAT)
        sent++
      }
      if (isOver && accepted === sent) ended.resolve()
    }
    sender.on('sendable', sendMore)
    sender.on('accepted', () => {
      accepted++
      sendMore()
    })
    sender.on('rejected', ({ delivery }: EventContext) =>
      ended.reject(new Error(JSON.stringify(delivery?.remote_state))),
    )
    await ended.promise
    await closed(sender)
    return sent * batch
  }

  #bytesOf(batch: number): Buffer {
    const known = this.#batches.get(batch)
    if (known !== undefined) return known
    const messages = Array.from({ length: batch }, (_, index) => encoded(index))
    const { data_sections: sections } = rhea.message
    const bytes = batch === 1 ? messages[0]! : rhea.message.encode({ body: sections(messages) })
    this.#batches.set(batch, bytes)
    return bytes
  }

  #sender(queue: string): Sender {
    return sessionOf(this.#connected).open_sender({ target: { address: queue } })
  }

  #receiver(queue: string): Receiver {
    return receiverOf(this.#connected, queue)
  }

  get #connected(): Connection {
    if (this.#connection === undefined) throw new Error('it is not connected')
    return this.#connection
  }
}

/** One for each link, as the official client has it: what a closed link left unsettled is in nobody's way. */
function sessionOf(connection: Connection): Session {
  const session = connection.create_session()
  session.begin()
  return session
}

function receiverOf(connection: Connection, queue: string): Receiver {
  return sessionOf(connection).open_receiver({
    source: { address: queue },
    snd_settle_mode: 0,
    rcv_settle_mode: 1,
    autoaccept: false,
    autosettle: false,
    credit_window: 0,
  })
}

function encoded(index: number): Buffer {
  const body = rhea.message.data_section(Buffer.from(JSON.stringify(orderDocument(index))))
  const message: Message = { message_id: String(index), content_type: 'application/json', body }
  return rhea.message.encode(message)
}

async function closed(link: Sender | Receiver): Promise<void> {
  const event = once(link, link.is_sender() ? 'sender_close' : 'receiver_close')
  link.close()
  await event
  link.session.close()
}

serveClient(new LeanClient())
