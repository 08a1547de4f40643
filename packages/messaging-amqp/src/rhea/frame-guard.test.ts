import { duplexPair } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import type { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { FrameGuard } from './frame-guard.ts'

const SASL = Buffer.from('AMQP\x03\x01\x00\x00', 'latin1')
const AMQP = Buffer.from('AMQP\x00\x01\x00\x00', 'latin1')
const INIT = saslFrame([0x00, 0x53, 0x41, 0xc0, 4, 1, 0xa3, 1, 0x58])
const WELCOME = saslFrame([0x00, 0x53, 0x44, 0xc0, 3, 1, 0x50, 0])
const REFUSED = saslFrame([0x00, 0x53, 0x44, 0xc0, 3, 1, 0x50, 1])
const END = amqpFrame([0x00, 0x53, 0x17, 0x45])
const EMPTY = amqpFrame([])
const MAX_FRAME_BYTES = 10_000

function saslFrame(body: readonly number[]): Buffer {
  return frameOf(1, body)
}

function amqpFrame(body: readonly number[]): Buffer {
  return frameOf(0, body)
}

function frameOf(type: number, body: readonly number[]): Buffer {
  const frame = Buffer.from([0, 0, 0, 0, 2, type, 0, 0, ...body])
  frame.writeUInt32BE(frame.length, 0)
  return frame
}

class Guarded {
  readonly handedOn: string[] = []
  readonly violations: ProtocolViolationError[] = []
  readonly guard: FrameGuard
  readonly #client
  hasEnded = false
  lastWords = 0

  constructor() {
    const [stream, client] = duplexPair()
    this.#client = client
    client.resume()
    this.guard = new FrameGuard({
      stream,
      maxFrameBytes: MAX_FRAME_BYTES,
      maxHeldBytes: 100,
      onViolation: (error) => this.violations.push(error),
      onLastWord: () => {
        this.lastWords += 1
      },
      onEnd: () => {
        this.hasEnded = true
      },
    })
    this.guard.on('data', (bytes: Buffer) => this.handedOn.push(bytes.toString('hex')))
  }

  async say(...bytes: readonly Buffer[]): Promise<void> {
    for (const piece of bytes) this.#client.write(piece)
    await turns()
  }

  leave(): void {
    this.#client.destroy()
  }

  get all(): string {
    return this.handedOn.join('')
  }
}

async function turns(): Promise<void> {
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve))
}

let guarded: Guarded | undefined
afterEach(() => guarded?.leave())

function start(): Guarded {
  guarded = new Guarded()
  return guarded
}

test('only whole frames are handed on, in whatever pieces they come', async () => {
  const seen = start()
  const all = Buffer.concat([AMQP, END, EMPTY, END])
  for (const byte of all) await seen.say(Buffer.from([byte]))
  expect(seen.all).toBe(all.toString('hex'))
  expect(seen.handedOn).toEqual([AMQP, END, EMPTY, END].map((one) => one.toString('hex')))
  expect(seen.violations).toEqual([])
})

test('frames of the next layer wait until the outcome of SASL is written', async () => {
  const seen = start()
  await seen.say(Buffer.concat([SASL, INIT, AMQP, END]))
  expect(seen.all).toBe(Buffer.concat([SASL, INIT]).toString('hex'))
  seen.guard.write(WELCOME)
  await turns()
  expect(seen.all).toBe(Buffer.concat([SASL, INIT, AMQP, END]).toString('hex'))
})

test('who is refused by SASL is not heard any more', async () => {
  const seen = start()
  await seen.say(SASL, INIT)
  seen.guard.write(REFUSED)
  await seen.say(AMQP, END)
  expect(seen.all).toBe(Buffer.concat([SASL, INIT]).toString('hex'))
  expect(seen.lastWords).toBe(1)
})

test('what waits for the outcome is bounded', async () => {
  const seen = start()
  await seen.say(SASL, AMQP)
  for (let count = 0; count < 9; count++) await seen.say(Buffer.alloc(8192))
  expect(seen.violations).toHaveLength(1)
})

const BROKEN: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\n')],
  ['a size below the header', Buffer.concat([AMQP, Buffer.from([0, 0, 0, 7, 2, 0, 0, 0])])],
  [
    'a size above the least of all peers',
    Buffer.concat([AMQP, Buffer.from([0, 0, 0x80, 0, 2, 0, 0, 0])]),
  ],
  ['a data offset in the header', Buffer.concat([AMQP, Buffer.from([0, 0, 0, 8, 1, 0, 0, 0])])],
  ['a data offset behind the frame', Buffer.concat([AMQP, Buffer.from([0, 0, 0, 8, 3, 0, 0, 0])])],
  ['a frame of another layer', Buffer.concat([AMQP, INIT])],
  ['a performative of another layer', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x41, 0x45])])],
  ['what only servers send', Buffer.concat([SASL, WELCOME])],
  ['no performative', Buffer.concat([AMQP, amqpFrame([0x40])])],
  ['an unknown performative', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x99, 0x45])])],
  ['a performative that is no list', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x17, 0xa1, 0])])],
  ['bytes behind a performative', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x17, 0x45, 0x40])])],
  ['a list that is cut off', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x17, 0xc0, 9, 1, 0x40])])],
  [
    'more items than there are',
    Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x17, 0xc0, 2, 9, 0x40])]),
  ],
  ['a field that is missing', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x10, 0x45])])],
  [
    'a mandatory field that is null',
    Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x10, 0xc0, 2, 1, 0x40])]),
  ],
  [
    'a field of a wrong type',
    Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x10, 0xc0, 3, 1, 0x52, 1])]),
  ],
  ['an error that is none', Buffer.concat([AMQP, amqpFrame([0, 0x53, 0x17, 0xc0, 3, 1, 0x52, 1])])],
]

test.each(BROKEN)('%s is a violation, and nothing behind it is handed on', async (_name, bytes) => {
  const seen = start()
  await seen.say(bytes)
  await seen.say(END)
  expect(seen.violations).toHaveLength(1)
  expect(['', AMQP.toString('hex'), SASL.toString('hex')]).toContain(seen.all)
})

test('an error may have its name instead of its code', async () => {
  const seen = start()
  const name = Buffer.from('amqp:error:list')
  const error = [0x00, 0xa3, name.length, ...name, 0xc0, 4, 1, 0xa3, 1, 0x58]
  await seen.say(AMQP, amqpFrame([0, 0x53, 0x17, 0xc0, error.length + 1, 1, ...error]))
  expect(seen.violations).toEqual([])
})

test('while more is held than allowed, nothing is read', async () => {
  const seen = start()
  await seen.say(AMQP)
  seen.guard.hold(101)
  await seen.say(END)
  expect(seen.all).toBe(AMQP.toString('hex'))
  seen.guard.release(101)
  await turns()
  expect(seen.all).toBe(Buffer.concat([AMQP, END]).toString('hex'))
})

test('an end of the client is told, also when all listeners were taken off', async () => {
  const seen = start()
  seen.guard.removeAllListeners('end')
  seen.leave()
  await turns()
  expect(seen.hasEnded).toBe(true)
  await seen.guard.writable()
})
