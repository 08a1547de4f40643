import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { linkOf } from './frame-places.ts'
import type { RheaConnection, RheaFrame, RheaLink } from './rhea-internals.ts'
import { transactionalState } from './transactional-state.ts'

/** The transfer that a link is receiving, or has just received. */
export interface IncomingTransfer {
  readonly format: number
  /** The id of the one that it belongs to. */
  readonly transaction: Buffer | undefined
  /** That have arrived. */
  readonly bytes: number
  /** What it takes in memory, or took until it was thrown away. */
  readonly heldBytes: number
  /** More have arrived than the link takes: all were thrown away. */
  readonly isTooLarge: boolean
}

export interface TransferHooks {
  /** The most bytes of one transfer on this link. */
  readonly maxTransferBytes: (link: RheaLink) => number
  /** Takes requests, which are settled at once. */
  readonly takesRequests: (link: RheaLink) => boolean
  /** A whole transfer has arrived, and takes so much memory until it is answered. */
  readonly onTransfer: (link: RheaLink, heldBytes: number) => void
}

/** What a frame takes in memory beside its payload: many small ones must not cost more than a large one. */
const FRAME_COST_BYTES = 512
/** Of all transfers of a connection of which more is to come. Nothing is answered before it has come, so reading must go on. */
const MAX_INCOMPLETE_BYTES = 128 * 1024 * 1024
/** A payload that waits, or is small, would keep all bytes that were read from the socket with it. */
const MIN_SHARED_BYTES = 4096
/** Any value but 0, for which rhea would decode the message. */
const UNDECODED_FORMAT = 1
const MAX_UINT = 2 ** 32 - 1
/** Place in a transfer. */
const STATE_FIELD = 7
const NO_BYTES = Buffer.alloc(0)

const transfers = new WeakMap<RheaLink, Mutable<IncomingTransfer>>()

/** Bounds what transfers of a client take in memory. rhea believes in ids and credit, and delivers aborted transfers like others. */
export class IncomingTransfers {
  readonly #hooks: TransferHooks
  readonly #incomplete = new Map<RheaLink, Mutable<IncomingTransfer>>()
  #incompleteBytes = 0

  constructor(connection: RheaConnection, hooks: TransferHooks) {
    this.#hooks = hooks
    const original = connection.on_transfer.bind(connection)
    connection.on_transfer = (frame) => {
      const link = linkOf(connection, frame)
      if (!link.is_receiver()) violated('a transfer on a link that receives')
      if (frame.performative['aborted'] === true) this.#abort(link)
      else this.#take(link, frame, original)
    }
  }

  /** The client has ended the link: nothing more comes. */
  forget(link: RheaLink): void {
    const transfer = this.#incomplete.get(link)
    if (transfer === undefined) return
    this.#incomplete.delete(link)
    this.#incompleteBytes -= transfer.heldBytes
  }

  #take(link: RheaLink, frame: RheaFrame, original: (frame: RheaFrame) => void): void {
    const begun = this.#incomplete.get(link)
    if (begun !== undefined && this.#hooks.takesRequests(link)) {
      frame.performative['delivery_id'] = null
    }
    const transfer = begun ?? this.#begin(link, frame)
    const payload = frame.payload ?? NO_BYTES
    const isLast = frame.performative['more'] !== true
    transfer.bytes += payload.length
    this.#hold(transfer, payload.length + FRAME_COST_BYTES)
    transfer.isTooLarge ||= transfer.bytes > this.#hooks.maxTransferBytes(link)
    // rhea expects a payload.
    frame.payload = transfer.isTooLarge ? NO_BYTES : ownBytes(payload, isLast)
    if (isLast) {
      this.#incomplete.delete(link)
      this.#incompleteBytes -= transfer.heldBytes
      this.#hooks.onTransfer(link, transfer.heldBytes)
    } else {
      this.#incomplete.set(link, transfer)
    }
    original(frame)
    const { incoming } = link.session
    if (Number(incoming.next_delivery_id) > MAX_UINT) incoming.next_delivery_id = 0
    if (transfer.isTooLarge && link._incomplete !== undefined) {
      link._incomplete.frames.length = 0
      this.#hold(transfer, -transfer.heldBytes)
    }
  }

  #begin(link: RheaLink, { performative }: RheaFrame): Mutable<IncomingTransfer> {
    const { message_format: format, delivery_id: id, delivery_tag: tag } = performative
    if (typeof id !== 'number' || !Buffer.isBuffer(tag))
      violated('a transfer needs an id and a tag')
    if (link.credit <= 0) {
      violated('a transfer without credit', 'amqp:link:transfer-limit-exceeded')
    }
    const { next_delivery_id: next = id } = link.session.incoming
    // Python's client gives two requests one id when two threads send at once. Nobody needs the id of a request.
    if (this.#hooks.takesRequests(link)) performative['delivery_id'] = next
    else if (id !== next)
      violated(`a transfer has the delivery-id ${id} where ${next} is the next one`)
    const transfer = {
      format: typeof format === 'number' ? format : 0,
      transaction: transactionalState(stateOf(performative))?.transaction,
      bytes: 0,
      heldBytes: 0,
      isTooLarge: false,
    }
    transfers.set(link, transfer)
    performative['message_format'] = UNDECODED_FORMAT
    return transfer
  }

  #hold(transfer: Mutable<IncomingTransfer>, bytes: number): void {
    transfer.heldBytes += bytes
    this.#incompleteBytes += bytes
    if (this.#incompleteBytes > MAX_INCOMPLETE_BYTES) {
      violated('too much is sent before any of it is complete', 'amqp:resource-limit-exceeded')
    }
  }

  /** The client has thought better of it: it counts as settled, and its credit comes back. */
  #abort(link: RheaLink): void {
    if (link._incomplete === undefined) violated('a transfer is aborted that has not begun')
    this.forget(link)
    link._incomplete.settled = true
    link._incomplete = undefined
    link.delivery_count += 1
    link.issue_flow = true
    link.connection._register()
  }
}

/** The transfer that rhea hands on as a message just now. It hands on the bytes of every format as they are. */
export function receivedTransfer(link: RheaLink): IncomingTransfer {
  return transfers.get(link) ?? violated('a message without a transfer')
}

/** With its descriptor, which rhea leaves out. */
function stateOf(performative: RheaFrame['performative']): unknown {
  const fields = performative['value']
  return Array.isArray(fields) ? fields[STATE_FIELD] : undefined
}

function ownBytes(payload: Buffer, isLast: boolean): Buffer {
  return isLast && payload.length >= MIN_SHARED_BYTES ? payload : Buffer.from(payload)
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

function violated(what: string, condition?: string): never {
  throw new ProtocolViolationError(`The client broke the protocol: ${what}.`, condition)
}
