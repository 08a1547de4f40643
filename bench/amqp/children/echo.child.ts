import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import rhea, { type EventContext, type Message, type Sender } from 'rhea'
import { serveParent } from '../../measuring/child-process.ts'
import { ACCEPTED, BATCH_FORMAT } from '../on-wire.ts'
import { replyOf, type ServerReply, type ServerRequest } from '../server-requests.ts'

/*
 * A bare server on rhea: it decodes every message that comes, keeps it in an array, and encodes it again for whoever receives
 * from the same address. No locks, no disk, no checks: what rhea can do at most.
 */

const MAX_MESSAGE_BYTES = 1024 * 1024
const CREDIT = 1_000
let port = 0

serveParent<ServerRequest, ServerReply>(async (request) => {
  if (request.kind === 'start') port = await start()
  return replyOf(port)
})

interface Crediting {
  readonly credit: number
  readonly session: {
    readonly outgoing: {
      readonly next_delivery_id: number
      readonly next_pending_delivery: number
      available(): number
    }
  }
}

interface Mechanisms {
  enable_anonymous(): void
  enable_plain(isKnown: () => boolean): void
}

class EchoQueue {
  readonly #messages: Message[] = []
  readonly #senders = new Set<Sender>()
  #first = 0
  #isFlushing = false

  put(message: Message): void {
    this.#messages.push(message)
  }

  add(sender: Sender): void {
    this.#senders.add(sender)
    this.flush()
  }

  remove(sender: Sender): void {
    this.#senders.delete(sender)
  }

  /** After everything that came with what asks for it: rhea would send on a link that is closed in the same turn. */
  flush(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      this.#flushNow()
    })
  }

  #flushNow(): void {
    for (const sender of this.#senders) {
      if (!sender.is_open()) {
        this.#senders.delete(sender)
        continue
      }
      for (let room = roomOf(sender); room > 0 && this.#first < this.#messages.length; room--) {
        const message = this.#messages[this.#first]!
        this.#first++
        sender.send(message)
      }
    }
    if (this.#first > 10_000) {
      this.#messages.splice(0, this.#first)
      this.#first = 0
    }
  }
}

/** Credit, less what waits in rhea to be sent: it takes more than it may send, and the rest blocks its session. */
function roomOf(sender: Sender): number {
  // rhea's declarations leave it out.
  const { credit, session } = sender as unknown as Crediting
  const { outgoing } = session
  const unsent = outgoing.next_delivery_id - outgoing.next_pending_delivery
  return Math.min(credit - unsent, outgoing.available())
}

async function start(): Promise<number> {
  const container = rhea.create_container({ id: 'echo' })
  const mechanisms: Mechanisms = container.sasl_server_mechanisms
  mechanisms.enable_anonymous()
  mechanisms.enable_plain(() => true)
  const queues = new Map<string, EchoQueue>()
  const queueOf = (address: string): EchoQueue => {
    const queue = queues.get(address) ?? new EchoQueue()
    queues.set(address, queue)
    return queue
  }
  container.on('receiver_open', ({ receiver }: EventContext) => {
    receiver?.set_target(receiver.target)
    receiver?.set_source(receiver.source)
  })
  container.on('sender_open', ({ sender }: EventContext) => {
    if (sender === undefined) return
    sender.set_source(sender.source)
    sender.set_target(sender.target)
    if (sender.source.address !== '$cbs') queueOf(sender.source.address).add(sender)
  })
  container.on('sendable', ({ sender }: EventContext) => {
    if (sender !== undefined && sender.source.address !== '$cbs')
      queueOf(sender.source.address).flush()
  })
  container.on('message', (context: EventContext) => {
    const { receiver, message, delivery } = context
    if (receiver === undefined || message === undefined || delivery === undefined) return
    const { address } = receiver.target
    if (address === '$cbs') {
      acceptToken(context, message)
      return
    }
    const queue = queueOf(address)
    for (const one of messagesIn(delivery.format, message)) queue.put(one)
    delivery.accept()
    queue.flush()
  })
  container.on('accepted', ({ delivery }: EventContext) => {
    if (delivery === undefined) return
    delivery.update(true, ACCEPTED)
    // Otherwise rhea waits for the client to settle it, too.
    Reflect.set(delivery, 'remote_settled', true)
  })
  container.on('sender_close', ({ sender }: EventContext) => {
    if (sender !== undefined) queueOf(sender.source.address).remove(sender)
  })
  container.on('disconnected', ({ connection }: EventContext) => {
    connection.each_sender((sender: Sender) => queueOf(sender.source?.address ?? '').remove(sender))
  })
  const server = container.listen({
    port: 0,
    host: '127.0.0.1',
    receiver_options: {
      autoaccept: false,
      credit_window: CREDIT,
      max_message_size: MAX_MESSAGE_BYTES,
    },
    sender_options: { autosettle: false },
  })
  await once(server, 'listening')
  // A TCP server has such an address.
  return (server.address() as AddressInfo).port
}

/** A batch comes as bytes. */
function messagesIn(format: number, message: Message | Buffer): Message[] {
  if (format !== BATCH_FORMAT) return [message as Message]
  const { content } = rhea.message.decode(message as Buffer)['body'] as {
    readonly content: Buffer | readonly Buffer[]
  }
  return [content].flat().map((bytes) => ({ body: undefined, ...rhea.message.decode(bytes) }))
}

/** The official client shows a token before each link. */
function acceptToken({ connection, delivery }: EventContext, request: Message): void {
  delivery?.accept()
  const answers = connection.find_sender(({ name }: Sender) => name === request.reply_to)
  answers?.send({
    correlation_id: request.message_id ?? '',
    application_properties: { 'status-code': rhea.types.wrap_int(202), 'status-description': 'OK' },
    body: undefined,
  })
}
