import rhea from 'rhea'
import {
  ATTACH,
  DISPOSITION,
  FLOW,
  frame,
  frames,
  message,
  RawClient,
  source,
  TRANSFER,
  value,
  type ReceivedFrame,
} from '../fuzz/amqp/raw-client.ts'

const COORDINATOR = 0x30
const DECLARE = 0x31
const DISCHARGE = 0x32
const TRANSACTIONAL_STATE = 0x34
const VALUE_SECTION = 0x77
const ACCEPTED = 0x24

/** A state or an error, as it was read. */
export interface Described {
  readonly descriptor: number
  readonly value: readonly unknown[]
}

export const OUTCOMES = {
  accepted: value.described(ACCEPTED, value.list()),
  released: value.described(0x26, value.list()),
  rejected: value.described(0x25, value.list()),
} as const

/** The code of an outcome, and the condition of its error. */
export function outcomeOf({ fields }: ReceivedFrame): readonly [number, string?] {
  const state = fields[4] as Described
  const outcome = state.descriptor === TRANSACTIONAL_STATE ? (state.value[1] as Described) : state
  const error = outcome.value[0] as Described | null | undefined
  return error ? [outcome.descriptor, String(error.value[0])] : [outcome.descriptor]
}

/** The text of an outcome's error. */
export function reasonOf({ fields }: ReceivedFrame): string {
  const [error] = (fields[4] as Described).value as readonly Described[]
  return String(error?.value[1])
}

/** A client on one session, with a link to the coordinator, which says its frames when a test wants it to. */
export class TransactingClient implements AsyncDisposable {
  readonly raw: RawClient
  readonly #senders = new Map<string, number>()
  readonly #receivers = new Map<string, { readonly handle: number; count: number }>()
  #handles = 0
  #id = 0

  private constructor(raw: RawClient) {
    this.raw = raw
  }

  static async open(
    port: number,
    key: { readonly name: string; readonly key: string },
  ): Promise<TransactingClient> {
    const client = new TransactingClient(await RawClient.open(port, key))
    await client.attachCoordinator()
    return client
  }

  /** Resolves with our answer to the attach. */
  async attachCoordinator(): Promise<ReceivedFrame> {
    const handle = this.#handles++
    this.#senders.set('coordinator', handle)
    const target = value.described(COORDINATOR, value.list(value.null))
    const end = [value.null, value.null, value.uint(0)]
    const roles = [value.false, value.null, value.null]
    this.raw.write(
      frame(0, ATTACH, [
        value.string(`c${handle}`),
        value.uint(handle),
        ...roles,
        source('raw'),
        target,
        ...end,
      ]),
    )
    const answer = await this.raw.next(ATTACH)
    await this.raw.next(FLOW)
    return answer
  }

  detachCoordinator(): void {
    this.raw.write(frames.detach(0, this.#senders.get('coordinator')!))
  }

  async declare(): Promise<Buffer> {
    this.raw.write(this.control(value.described(DECLARE, value.list())))
    const { fields } = await this.raw.next(DISPOSITION)
    return (fields[4] as Described).value[0] as Buffer
  }

  discharge(id: Buffer, fail: boolean): Buffer {
    const flag = fail ? value.true : value.false
    return this.control(value.described(DISCHARGE, value.list(value.binary(id), flag)))
  }

  async commit(id: Buffer): Promise<ReceivedFrame> {
    this.raw.write(this.discharge(id, false))
    return this.#answerFrom(true)
  }

  async rollBack(id: Buffer): Promise<ReceivedFrame> {
    this.raw.write(this.discharge(id, true))
    return this.#answerFrom(true)
  }

  /** A transfer to the coordinator. */
  control(body: Buffer): Buffer {
    return this.#transfer('coordinator', value.described(VALUE_SECTION, body), value.null)
  }

  async openSender(path: string, properties: Buffer = value.null): Promise<void> {
    const handle = this.#handles++
    this.#senders.set(path, handle)
    const nulls = Array.from({ length: 3 }, () => value.null)
    this.raw.write(
      frame(0, ATTACH, [
        value.string(`s${handle}`),
        value.uint(handle),
        value.false,
        value.null,
        value.null,
        source('raw'),
        value.described(0x29, value.list(value.string(path))),
        value.null,
        value.null,
        value.uint(0),
        ...nulls,
        properties,
      ]),
    )
    await this.raw.next(ATTACH)
    await this.raw.next(FLOW)
  }

  /** A transfer in a transaction. */
  sending(path: string, payload: Buffer, transaction: Buffer): Buffer {
    return this.#transfer(
      path,
      payload,
      value.described(TRANSACTIONAL_STATE, value.list(value.binary(transaction))),
    )
  }

  async send(path: string, text: string, transaction: Buffer): Promise<ReceivedFrame> {
    this.raw.write(this.sending(path, message(text), transaction))
    return this.#answerFrom(true)
  }

  /** The id of the next delivery from there, or from a session there. */
  async receive(path: string, session?: string): Promise<number> {
    let receiver = this.#receivers.get(path)
    if (receiver === undefined) {
      receiver = { handle: this.#handles++, count: 0 }
      this.#receivers.set(path, receiver)
      const filter =
        session === undefined
          ? value.null
          : value.map(value.symbol('com.microsoft:session-filter'), value.string(session))
      const nulls = Array.from({ length: 6 }, () => value.null)
      const from = source(path, ...nulls, filter)
      this.raw.write(frames.attachReceiver(0, receiver.handle, from))
    }
    const { handle, count } = receiver
    this.raw.write(frames.flow(0, { handle, credit: 1, count }))
    receiver.count += 1
    return Number((await this.raw.next(TRANSFER)).fields[1])
  }

  disposing(
    delivery: number,
    transaction: Buffer,
    { outcome = OUTCOMES.accepted, settled = false } = {},
  ): Buffer {
    const list = value.list(value.binary(transaction), outcome)
    const state = value.described(TRANSACTIONAL_STATE, list)
    return frames.disposition(0, { first: delivery, last: delivery, state, settled })
  }

  async dispose(
    delivery: number,
    transaction: Buffer,
    outcome: Buffer = OUTCOMES.accepted,
  ): Promise<ReceivedFrame> {
    this.raw.write(this.disposing(delivery, transaction, { outcome }))
    return this.#answerFrom(false)
  }

  /** Answers of `$management` of an entity, in a transaction. */
  async openManagement(path: string): Promise<void> {
    const node = `${path}/$management`
    const handle = this.#handles++
    this.raw.write(frames.attachReceiver(0, handle, source(node)))
    await this.raw.next(ATTACH)
    this.raw.write(frames.flow(0, { handle, credit: 100 }))
    await this.openSender(node)
  }

  async request(
    path: string,
    { operation, body }: { readonly operation: string; readonly body: object },
    transaction: Buffer,
  ): Promise<{ readonly status: number; readonly text: string; readonly body: unknown }> {
    const request = rhea.message.encode({
      application_properties: { operation: `com.microsoft:${operation}` },
      body,
    })
    this.raw.write(this.sending(`${path}/$management`, request, transaction))
    const { payload } = await this.raw.next(TRANSFER)
    const answer = rhea.message.decode(payload) as unknown as rhea.Message
    const properties = answer.application_properties ?? {}
    return {
      status: Number(properties['statusCode']),
      text: String(properties['statusDescription']),
      body: answer.body as unknown,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.raw[Symbol.asyncDispose]()
  }

  /** Of what we have received from it, or sent to it. */
  async #answerFrom(isReceiver: boolean): Promise<ReceivedFrame> {
    for (;;) {
      const answer = await this.raw.next(DISPOSITION)
      if (answer.fields[0] === isReceiver) return answer
    }
  }

  #transfer(path: string, payload: Buffer, state: Buffer): Buffer {
    const id = this.#id++
    const fields = [
      value.uint(this.#senders.get(path)!),
      value.uint(id),
      value.binary(Buffer.from([id >> 8, id & 0xff])),
      value.uint(0),
      value.false,
      value.false,
      value.null,
      state,
    ]
    return frame(0, TRANSFER, fields, payload)
  }
}
