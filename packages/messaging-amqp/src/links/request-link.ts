import rhea, { type Typed } from 'rhea'
import { receivedTransfer } from '../rhea/incoming-transfers.ts'
import type { RheaEvent, RheaReceiver } from '../rhea/rhea-internals.ts'
import { TransactionError } from '../errors/transaction-error.ts'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { readSections, VALUE } from '../messages/sections.ts'
import { endOfValue } from '../values/scan-values.ts'
import { SMALL_ULONG, ULONG } from '../values/type-codes.ts'
import { typedValueAt } from '../values/typed-values.ts'
import type { ClientLink, LinkHost } from './client-link.ts'
import { ACCEPTED } from './outcomes.ts'

/** A request to a node. */
export interface NodeRequest {
  readonly properties: Readonly<Record<string, unknown>>
  /** The value in its body. */
  readonly body: Typed | undefined
  /** The id of the one that it belongs to. */
  readonly transaction: Buffer | undefined
}

export interface NodeAnswer {
  /** Values may be typed by rhea. */
  readonly properties: Readonly<Record<string, unknown>>
  readonly body: unknown
}

export interface RequestLinkParts {
  readonly receiver: RheaReceiver
  readonly host: LinkHost
  /** Of the node. */
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes: number
  /** Never rejects. */
  readonly answer: (request: NodeRequest) => Promise<NodeAnswer>
}

/** A client that does not wait for answers must not take what it asked for as done. */
const NO_ANSWER = new TransactionError(
  'amqp:transaction:rollback',
  'A request of the transaction had no answer.',
)

/** Requests of one link that may be on their way. */
const CREDIT = 100

/** A client sends requests to a node; the answers go to another link of its own. */
export class RequestLink implements ClientLink {
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes: number
  readonly #parts: RequestLinkParts
  readonly #open = new Set<Promise<void>>()
  #hasEnded = false

  constructor(parts: RequestLinkParts) {
    const { receiver, path, rights, maxTransferBytes } = parts
    this.path = path
    this.rights = rights
    this.maxTransferBytes = maxTransferBytes
    this.#parts = parts
    // .NET takes a link for failed whose answer does not say the mode that it asked for.
    receiver.local.attach['snd_settle_mode'] = receiver.snd_settle_mode
    receiver.local.attach['source'] = receiver.source?.described()
    receiver.local.attach['target'] = receiver.target?.described()
    receiver.local.attach['max_message_size'] = maxTransferBytes
    receiver.on('message', (event: RheaEvent) => this.#take(event))
  }

  begin(): void {
    this.#parts.receiver.flow(CREDIT)
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#open)
  }

  #take({ message, delivery }: RheaEvent): void {
    const { receiver, host } = this.#parts
    const { heldBytes, isTooLarge, transaction } = receivedTransfer(receiver)
    if (delivery === undefined || !Buffer.isBuffer(message)) return
    const { transactions } = host
    delivery.update(true, transactions.state(transaction, ACCEPTED))
    if (this.#hasEnded || isTooLarge) transactions.fail(transaction, NO_ANSWER)
    if (this.#hasEnded) return
    const request = isTooLarge ? Promise.resolve() : this.#answer(message, transaction)
    const answered = request.finally(() => {
      this.#open.delete(answered)
      host.release(heldBytes)
      if (receiver.is_open()) receiver.flow(1)
    })
    this.#open.add(answered)
    transactions.track(transaction, answered)
  }

  async #answer(bytes: Buffer, transaction: Buffer | undefined): Promise<void> {
    const { host, path, answer, receiver } = this.#parts
    try {
      await host.writable()
      const request = decodeRequest(bytes)
      const { properties, body } = await answer({ ...request, transaction })
      host.links.answerLink(path, request.replyTo, receiver.session)?.send(
        rhea.message.encode({
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea takes bytes for a UUID.
          correlation_id: request.id as string,
          to: request.replyTo,
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea takes typed values, too.
          application_properties: properties as Record<string, string>,
          body,
        }),
      )
    } catch (error) {
      host.transactions.fail(transaction, error)
      host.links.close(receiver, error)
    }
  }
}

/** @throws ERR_MALFORMED_MESSAGE */
function decodeRequest(bytes: Buffer): Omit<NodeRequest, 'transaction'> & {
  readonly id: MessageId
  readonly replyTo: string | undefined
} {
  const { bodyCode, bodyValues } = readSections(bytes, 0, bytes.length)
  const decoded = decodeMessage(bytes)
  const { message_id: id, application_properties: properties, reply_to: replyTo } = decoded
  return {
    id: isMessageId(id) ? id : undefined,
    replyTo: typeof replyTo === 'string' ? replyTo : undefined,
    properties: isObject(properties) ? properties : {},
    body: bodyCode === VALUE ? typedValueAt(bytes, bodyValues[0]!) : undefined,
  }
}

/** rhea believes every byte, and writes to the console what it does not know. */
function decodeMessage(bytes: Buffer): Readonly<Record<string, unknown>> {
  for (let at = 0; at < bytes.length; at = endOfValue(bytes, at, bytes.length)) {
    const isNumbered = bytes[at + 1] === SMALL_ULONG || bytes[at + 1] === ULONG
    if (!isNumbered) throw new MalformedMessageError('a request has sections with names')
  }
  try {
    return rhea.message.decode(bytes)
  } catch (cause) {
    throw new MalformedMessageError('a request has a field of a wrong type', { cause })
  }
}

/** As rhea shows it; bytes may be a UUID. */
type MessageId = string | number | Buffer | undefined

function isMessageId(id: unknown): id is string | number | Buffer {
  return typeof id === 'string' || typeof id === 'number' || Buffer.isBuffer(id)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
