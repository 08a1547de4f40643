import rhea, { type Typed } from 'rhea'
import { errorOnWire, isOurs, LINK_ENDED } from '../errors/error-on-wire.ts'
import { notOffered } from '../errors/not-offered.ts'
import { MalformedMessageError } from '../errors/malformed-message-error.ts'
import { readSections, VALUE } from '../messages/sections.ts'
import { receivedTransfer } from '../rhea/incoming-transfers.ts'
import type { RheaDelivery, RheaEvent, RheaReceiver } from '../rhea/rhea-internals.ts'
import { declared } from '../rhea/transactional-state.ts'
import { SYMBOL_8 } from '../values/type-codes.ts'
import { descriptorOf, typedValueAt, unwrapped } from '../values/typed-values.ts'
import type { ClientLink, LinkHost } from './client-link.ts'
import { ACCEPTED, rejected } from './outcomes.ts'

/** Transfers that may be on their way. */
const CREDIT = 100
const MAX_TRANSFER_BYTES = 8 * 1024
const COORDINATOR = 0x30
const CAPABILITIES = [
  'amqp:local-transactions',
  'amqp:multi-txns-per-ssn',
  'amqp:multi-ssns-per-txn',
] as const
const DECLARE: ReadonlySet<unknown> = new Set([0x31, 'amqp:declare:list'])
const DISCHARGE: ReadonlySet<unknown> = new Set([0x32, 'amqp:discharge:list'])

/** On which a client begins and ends transactions (part 4, section 4.2). Those that it has not ended end with it. */
export class CoordinatorLink implements ClientLink {
  readonly path = ''
  /** What is done in a transaction needs the rights that it needs elsewhere. */
  readonly rights: ClientLink['rights'] = []
  readonly maxTransferBytes: number = MAX_TRANSFER_BYTES
  readonly #receiver: RheaReceiver
  readonly #host: LinkHost
  readonly #open = new Set<Promise<void>>()
  #hasEnded = false

  constructor(receiver: RheaReceiver, host: LinkHost) {
    this.#receiver = receiver
    this.#host = host
    const { local, source, snd_settle_mode: settleMode } = receiver
    local.attach['source'] = source?.described()
    local.attach['target'] = coordinator()
    local.attach['snd_settle_mode'] = settleMode
    local.attach['max_message_size'] = MAX_TRANSFER_BYTES
    receiver.on('message', (event: RheaEvent) => this.#take(event))
  }

  begin(): void {
    this.#receiver.flow(CREDIT)
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#open)
    this.#host.transactions.drop(this)
  }

  #take({ message, delivery }: RheaEvent): void {
    const { heldBytes, isTooLarge } = receivedTransfer(this.#receiver)
    if (delivery === undefined || !Buffer.isBuffer(message)) return
    if (this.#hasEnded) {
      delivery.update(true, rejected(LINK_ENDED))
      return
    }
    const answered = this.#answer(delivery, isTooLarge ? Buffer.alloc(0) : message).finally(() => {
      this.#open.delete(answered)
      this.#host.release(heldBytes)
      if (this.#receiver.is_open()) this.#receiver.flow(1)
    })
    this.#open.add(answered)
  }

  async #answer(delivery: RheaDelivery, bytes: Buffer): Promise<void> {
    try {
      delivery.update(true, await this.#perform(bytes))
    } catch (error) {
      if (isOurs(error)) this.#host.report('a transaction', error)
      delivery.update(true, rejected(errorOnWire(error)))
    }
  }

  /** The outcome. */
  async #perform(bytes: Buffer): Promise<unknown> {
    const { transactions } = this.#host
    const { descriptor, fields } = readBody(bytes)
    if (DECLARE.has(descriptor)) {
      if (unwrapped(fields[0]) !== undefined) notOffered('transactions that others coordinate')
      return declared(transactions.declare(this).id)
    }
    const [id, fail] = fields.map(unwrapped)
    if (!DISCHARGE.has(descriptor) || !Buffer.isBuffer(id)) {
      throw new MalformedMessageError('the coordinator of transactions takes declare and discharge')
    }
    await (fail === true ? transactions.rollBack(id) : transactions.commit(id))
    return ACCEPTED
  }
}

/** The described list in the body; nothing when there is none. @throws ERR_MALFORMED_MESSAGE */
function readBody(bytes: Buffer): {
  readonly descriptor: unknown
  readonly fields: readonly Typed[]
} {
  const { bodyCode, bodyValues } = readSections(bytes, 0, bytes.length)
  if (bodyCode !== VALUE) return { descriptor: undefined, fields: [] }
  const body = typedValueAt(bytes, bodyValues[0]!)
  const fields = Array.isArray(body.value) ? (body.value as readonly Typed[]) : []
  return { descriptor: descriptorOf(body), fields }
}

/** A target that rhea does not know. */
function coordinator(): unknown {
  const { types } = rhea
  const capabilities = types.wrap_array([...CAPABILITIES], SYMBOL_8, undefined)
  return types.described(types.wrap_ulong(COORDINATOR), types.wrap_list([capabilities]))
}
