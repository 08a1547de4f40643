import {
  LinkClosedError,
  MessagingEntityDisabledError,
  MessageSizeExceededError,
} from '@tidemark/messaging'
import { MessagingNotAllowedError } from '@tidemark/messaging'
import { errorCode } from '@tidemark/contracts'
import type { EntityRecord, NewMessage } from '@tidemark/messaging/front'
import { errorOnWire, isOurs, LINK_ENDED } from '../errors/error-on-wire.ts'
import { receivedTransfer, type IncomingTransfer } from '../rhea/incoming-transfers.ts'
import type { RheaDelivery, RheaEvent, RheaReceiver } from '../rhea/rhea-internals.ts'
import { decodeTransfer } from '../messages/decode-transfer.ts'
import { ENVELOPE_BYTES, type ClientLink, type LinkHost } from './client-link.ts'
import { ACCEPTED, rejected } from './outcomes.ts'

/** Transfers that may be on their way, as the service allows. */
const CREDIT = 1_000
/** Credit is given back in pieces, each a frame. */
const CREDIT_PIECE = CREDIT / 4

/** A client sends to a queue or topic. Each transfer is answered when its messages are durable. */
export class SendingLink implements ClientLink {
  readonly path: string
  readonly rights = ['Send'] as const
  readonly maxTransferBytes: number
  readonly #receiver: RheaReceiver
  readonly #host: LinkHost
  readonly #maxMessageBytes: number
  #answered = 0
  readonly #open = new Set<Promise<void>>()
  #hasEnded = false

  /** Rejects when the entity takes no messages from this client. */
  static async open(receiver: RheaReceiver, host: LinkHost, path: string): Promise<SendingLink> {
    host.claims.assert('Send', path)
    const record = await host.front.entity(path)
    const { kind, settings } = record
    if (kind !== 'queue' && kind !== 'topic') {
      throw new MessagingNotAllowedError(`nobody can send to '${record.path}'`)
    }
    if (settings.status === 'Disabled' || settings.status === 'SendDisabled') {
      throw new MessagingEntityDisabledError(record.path)
    }
    return new SendingLink(receiver, host, record)
  }

  private constructor(receiver: RheaReceiver, host: LinkHost, { path, settings }: EntityRecord) {
    this.path = path
    this.#receiver = receiver
    this.#host = host
    this.#maxMessageBytes = settings.maxMessageBytes
    this.maxTransferBytes = settings.maxMessageBytes + ENVELOPE_BYTES
    const { local, source, target, snd_settle_mode: settleMode } = receiver
    local.attach['source'] = source?.described()
    local.attach['target'] = target?.described()
    local.attach['snd_settle_mode'] = settleMode
    local.attach['max_message_size'] = settings.maxMessageBytes
    receiver.on('message', (event: RheaEvent) => this.#take(event))
  }

  /** Transfers wait for their answers. */
  get isBusy(): boolean {
    return this.#open.size > 0
  }

  begin(): void {
    this.#receiver.flow(CREDIT)
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#open)
  }

  #take({ message, delivery }: RheaEvent): void {
    const transfer = receivedTransfer(this.#receiver)
    if (delivery === undefined || !Buffer.isBuffer(message)) return
    if (this.#hasEnded) {
      // Not stored: the client must not wait for it, or take it for sent.
      delivery.update(true, rejected(LINK_ENDED))
      this.#host.transactions.fail(
        transfer.transaction,
        new LinkClosedError(`the sender to '${this.path}'`),
      )
      return
    }
    const answer = this.#answer(delivery, this.#send(message, transfer)).finally(() => {
      this.#open.delete(answer)
      this.#host.release(transfer.heldBytes)
      this.#giveCredit()
    })
    this.#open.add(answer)
  }

  /** Resolves with the outcome. Of a transaction, the messages are sent when it is committed. */
  async #send(bytes: Buffer, transfer: IncomingTransfer): Promise<unknown> {
    const { front, transactions } = this.#host
    if (transfer.transaction === undefined) {
      await front.send(this.path, this.#read(bytes, transfer))
      return ACCEPTED
    }
    const transaction = transactions.find(transfer.transaction)
    try {
      const messages = this.#read(bytes, transfer)
      transaction.add({ kind: 'send', path: this.path, messages })
    } catch (error) {
      transaction.fail(error)
      throw error
    }
    return transaction.state(ACCEPTED)
  }

  #read(message: Buffer, { format, bytes, isTooLarge }: IncomingTransfer): readonly NewMessage[] {
    if (!isTooLarge) return decodeTransfer({ format, bytes: message }, this.#host.front.random)
    const size = { entityPath: this.path, bytes, maxBytes: this.#maxMessageBytes }
    throw new MessageSizeExceededError(size)
  }

  async #answer(delivery: RheaDelivery, outcome: Promise<unknown>): Promise<void> {
    try {
      delivery.update(true, await outcome)
    } catch (error) {
      if (isOurs(error)) this.#host.report(`a message to '${this.path}'`, error)
      delivery.update(true, rejected(errorOnWire(error)))
      // The link of an entity that is gone is closed (TMP-12).
      if (errorCode(error) === 'ERR_MESSAGING_ENTITY_NOT_FOUND')
        this.#host.links.close(this.#receiver, error)
    }
  }

  #giveCredit(): void {
    this.#answered += 1
    if (this.#answered < CREDIT_PIECE || !this.#receiver.is_open()) return
    this.#receiver.flow(this.#answered)
    this.#answered = 0
  }
}
