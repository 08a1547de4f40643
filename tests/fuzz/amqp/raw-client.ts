import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { readDescribedList } from './read-values.ts'

/** Codes of performatives. */
export const OPEN = 0x10
export const BEGIN = 0x11
export const ATTACH = 0x12
export const FLOW = 0x13
export const TRANSFER = 0x14
export const DISPOSITION = 0x15
export const DETACH = 0x16
export const END = 0x17
export const CLOSE = 0x18
export const SASL_INIT = 0x41
export const SASL_OUTCOME = 0x44

export const SASL_HEADER = Buffer.from('AMQP\x03\x01\x00\x00', 'latin1')
export const AMQP_HEADER = Buffer.from('AMQP\x00\x01\x00\x00', 'latin1')

/** Encoded values, with which a test says any type in any place. */
export const value = {
  null: Buffer.from([0x40]),
  true: Buffer.from([0x41]),
  false: Buffer.from([0x42]),
  ubyte: (number: number): Buffer => Buffer.from([0x50, number]),
  ushort: (number: number): Buffer => Buffer.from([0x60, number >> 8, number & 0xff]),
  uint: (number: number): Buffer => wide(0x70, number),
  ulong: (number: number): Buffer => Buffer.from([0x53, number]),
  string: (text: string): Buffer => sized(0xb1, Buffer.from(text)),
  symbol: (text: string): Buffer => sized(0xb3, Buffer.from(text, 'latin1')),
  binary: (bytes: Buffer): Buffer => sized(0xb0, bytes),
  list: (...items: readonly Buffer[]): Buffer => compound(0xd0, items),
  map: (...keysAndValues: readonly Buffer[]): Buffer => compound(0xd1, keysAndValues),
  described: (code: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([0, 0x53, code]), content]),
} as const

export function source(address: string, ...fields: readonly Buffer[]): Buffer {
  return value.described(0x28, value.list(value.string(address), ...fields))
}

export function target(address: string): Buffer {
  return value.described(0x29, value.list(value.string(address)))
}

/** A frame of the AMQP layer: a performative, and what follows it. */
export function frame(
  channel: number,
  code: number,
  fields: readonly Buffer[],
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  return frameOf({
    type: 0,
    channel,
    body: [value.described(code, value.list(...fields)), payload],
  })
}

export function saslFrame(code: number, fields: readonly Buffer[]): Buffer {
  return frameOf({ type: 1, channel: 0, body: [value.described(code, value.list(...fields))] })
}

export const EMPTY_FRAME = frameOf({ type: 0, channel: 0, body: [] })

export function frameOf({
  type,
  channel,
  body,
}: {
  readonly type: number
  readonly channel: number
  readonly body: readonly Buffer[]
}): Buffer {
  const head = Buffer.alloc(8)
  const bytes = Buffer.concat([head, ...body])
  bytes.writeUInt32BE(bytes.length, 0)
  bytes[4] = 2
  bytes[5] = type
  bytes.writeUInt16BE(channel, 6)
  return bytes
}

export const frames = {
  open: (fields: readonly Buffer[] = []): Buffer =>
    frame(0, OPEN, [value.string('raw'), value.string('localhost'), ...fields]),
  begin: (channel: number, window = 1000): Buffer =>
    frame(channel, BEGIN, [value.null, value.uint(0), value.uint(window), value.uint(1000)]),
  /** The client sends on it. */
  attachSender: (
    channel: number,
    handle: number,
    to: string | Buffer,
    name = `s${handle}`,
  ): Buffer =>
    frame(channel, ATTACH, [
      value.string(name),
      value.uint(handle),
      value.false,
      value.null,
      value.null,
      source('raw'),
      typeof to === 'string' ? target(to) : to,
      value.null,
      value.null,
      value.uint(0),
    ]),
  /** The client receives on it. */
  attachReceiver: (channel: number, handle: number, from: Buffer, name = `r${handle}`): Buffer =>
    frame(channel, ATTACH, [
      value.string(name),
      value.uint(handle),
      value.true,
      value.null,
      value.null,
      from,
      target('raw'),
    ]),
  flow: (channel: number, link?: FlowOfLink, { window = 1000, nextIn = 0 } = {}): Buffer =>
    frame(channel, FLOW, [
      value.uint(nextIn),
      value.uint(window),
      value.uint(0),
      value.uint(1000),
      ...(link === undefined
        ? []
        : [
            value.uint(link.handle),
            value.uint(link.count ?? 0),
            value.uint(link.credit),
            value.null,
            link.drain === true ? value.true : value.false,
            link.echo === true ? value.true : value.false,
          ]),
    ]),
  transfer: (channel: number, handle: number, id: number, payload: Buffer, more = false): Buffer =>
    frame(
      channel,
      TRANSFER,
      [
        value.uint(handle),
        value.uint(id),
        value.binary(Buffer.from([id & 0xff])),
        value.uint(0),
        value.false,
        more ? value.true : value.false,
      ],
      payload,
    ),
  /** As a client that receives. */
  disposition: (channel: number, { first, last, state, settled }: DispositionOfReceiver): Buffer =>
    frame(channel, DISPOSITION, [
      value.true,
      value.uint(first),
      value.uint(last),
      settled ? value.true : value.false,
      state,
    ]),
  detach: (channel: number, handle: number): Buffer =>
    frame(channel, DETACH, [value.uint(handle), value.true]),
  end: (channel: number): Buffer => frame(channel, END, []),
  close: (): Buffer => frame(0, CLOSE, []),
} as const

export interface DispositionOfReceiver {
  readonly first: number
  readonly last: number
  readonly state: Buffer
  readonly settled: boolean
}

export interface FlowOfLink {
  readonly handle: number
  readonly credit: number
  readonly count?: number
  readonly drain?: boolean
  readonly echo?: boolean
}

export interface ReceivedFrame {
  readonly type: number
  readonly channel: number
  /** 0: an empty frame. */
  readonly code: number
  readonly fields: readonly unknown[]
  readonly payload: Buffer
}

/** A message with one data section. */
export function message(text: string): Buffer {
  return value.described(0x75, value.binary(Buffer.from(text)))
}

/** A message to `$cbs` with a token. */
export function tokenMessage(token: string, audience: string, replyTo: string): Buffer {
  return Buffer.concat([
    value.described(
      0x73,
      value.list(
        value.string('token'),
        value.null,
        value.string('$cbs'),
        value.null,
        value.string(replyTo),
      ),
    ),
    value.described(
      0x74,
      value.map(
        value.string('operation'),
        value.string('put-token'),
        value.string('type'),
        value.string('servicebus.windows.net:sastoken'),
        value.string('name'),
        value.string(audience),
      ),
    ),
    value.described(0x77, value.string(token)),
  ])
}

/** A client that says whatever a test lets it say, frame by frame, and understands nothing. */
export class RawClient implements AsyncDisposable {
  readonly socket: Socket
  readonly frames: ReceivedFrame[] = []
  /** Resolves when the server has closed, or the connection is lost. */
  readonly ended: Promise<void>
  #bytes: Buffer = Buffer.alloc(0)
  #taken = 0

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('error', () => undefined)
    this.ended = new Promise((resolve) => {
      socket.once('end', resolve)
      socket.once('close', () => resolve())
    })
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  /** With a connection and a session on channel 0; what PLAIN is given is its key. */
  static async open(
    port: number,
    key?: { readonly name: string; readonly key: string },
  ): Promise<RawClient> {
    const client = await RawClient.connect(port)
    const [mechanism, response] =
      key === undefined ? ['ANONYMOUS', ''] : ['PLAIN', `\0${key.name}\0${key.key}`]
    const init = [value.symbol(mechanism), value.binary(Buffer.from(response))]
    client.write(SASL_HEADER, saslFrame(SASL_INIT, init))
    await client.next(SASL_OUTCOME)
    client.write(AMQP_HEADER, frames.open(), frames.begin(0))
    await client.next(BEGIN)
    return client
  }

  /** In one write. */
  write(...bytes: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(bytes))
  }

  /** The next frame with this performative. Rejects when the connection ends before. */
  async next(code: number): Promise<ReceivedFrame> {
    for (;;) {
      const found = this.frames.findIndex((one, at) => at >= this.#taken && one.code === code)
      if (found >= 0) {
        this.#taken = found + 1
        return this.frames[found]!
      }
      const wait = new AbortController()
      const more = once(this.socket, 'data', { signal: wait.signal }).then(() => true)
      const isThere = await Promise.race([more, this.ended.then(() => false)])
      wait.abort()
      more.catch(() => undefined)
      if (!isThere) {
        const seen = this.frames.map((one) => `0x${one.code.toString(16)}`).join(' ')
        const why = JSON.stringify(this.frames.at(-1)?.fields)
        throw new Error(
          `the connection ended before 0x${code.toString(16)}; it got ${seen}: ${why}`,
        )
      }
    }
  }

  /** A link on which it may send. Resolves when it has credit. */
  async sendTo(handle: number, address: string): Promise<void> {
    this.write(frames.attachSender(0, handle, address))
    await this.next(ATTACH)
    await this.next(FLOW)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.socket.destroyed) return
    this.socket.destroy()
    await once(this.socket, 'close')
  }

  #take(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes])
    while (this.#bytes.length >= 8) {
      const isHeader = this.#bytes.readUInt32BE(0) === 0x414d5150
      const size = isHeader ? 8 : this.#bytes.readUInt32BE(0)
      if (this.#bytes.length < size) return
      const one = this.#bytes.subarray(0, size)
      this.#bytes = this.#bytes.subarray(size)
      if (!isHeader) this.frames.push(read(one))
    }
  }
}

function read(bytes: Buffer): ReceivedFrame {
  const type = bytes[5]!
  const channel = bytes.readUInt16BE(6)
  if (bytes.length === 8) return { type, channel, code: 0, fields: [], payload: NOTHING }
  return { type, channel, ...readDescribedList(bytes.subarray(8)) }
}

const NOTHING = Buffer.alloc(0)

function wide(typeCode: number, number: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes[0] = typeCode
  bytes.writeUInt32BE(number, 1)
  return bytes
}

function sized(typeCode: number, content: Buffer): Buffer {
  return Buffer.concat([wide(typeCode, content.length), content])
}

function compound(typeCode: number, items: readonly Buffer[]): Buffer {
  const content = Buffer.concat(items)
  const count = Buffer.alloc(4)
  count.writeUInt32BE(items.length, 0)
  return Buffer.concat([wide(typeCode, content.length + 4), count, content])
}
