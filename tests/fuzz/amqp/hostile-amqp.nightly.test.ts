import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { startAmqpServer, type AmqpFailure, type RunningAmqpServer } from '@tidemark/messaging-amqp'
import { openMemoryStore } from '@tidemark/testing'
import type { Store } from '@tidemark/store'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AmqpBystander } from './amqp-bystander.ts'
import {
  AMQP_HEADER,
  ATTACH,
  CLOSE,
  DETACH,
  DISPOSITION,
  EMPTY_FRAME,
  END,
  FLOW,
  frame,
  frames,
  message,
  OPEN,
  RawClient,
  SASL_HEADER,
  SASL_INIT,
  SASL_OUTCOME,
  saslFrame,
  source,
  tokenMessage,
  TRANSFER,
  value,
} from './raw-client.ts'

const KEY = { name: 'Root', key: 'bm90IGEgc2VjcmV0' }
const ACCEPTED = value.described(0x24, value.list())
const MAX = 2 ** 32 - 1

let store: Store
let broker: MessageBroker
let server: RunningAmqpServer
let bystander: AmqpBystander
const failures: AmqpFailure[] = []
const faults: unknown[] = []
const fault = (error: unknown): void => void faults.push(error)

beforeEach(async () => {
  store = await openMemoryStore()
  broker = openMessaging(await store.createDatabaseIfNotExists('shop'))
  await broker.createQueue('orders')
  await broker.createQueue('good')
  server = await startAmqpServer({
    broker,
    port: 0,
    policies: [{ name: KEY.name, keys: [KEY.key], rights: ['Listen', 'Send', 'Manage'] }],
    onFailure: (failure) => failures.push(failure),
  })
  // What rhea throws in a turn of its own would end a server.
  process.on('uncaughtException', fault)
  for (const method of ['error', 'warn', 'log'] as const) {
    vi.spyOn(console, method).mockImplementation((...said: unknown[]) => fault(said))
  }
  bystander = new AmqpBystander({
    connectionString: `Endpoint=sb://localhost:${server.port};SharedAccessKeyName=${KEY.name};SharedAccessKey=${KEY.key};UseDevelopmentEmulator=true;`,
    queue: 'good',
  })
})

afterEach(async () => {
  await bystander.arrive(2)
  const { wrong } = await bystander.stop()
  await server.stop()
  await broker.close()
  await store.close()
  process.off('uncaughtException', fault)
  vi.restoreAllMocks()
  const seen = { wrong, faults: faults.splice(0), failures: failures.splice(0) }
  expect(seen).toEqual({ wrong: [], faults: [], failures: [] })
})

const known = (): Promise<RawClient> => RawClient.open(server.port, KEY)
const stranger = (): Promise<RawClient> => RawClient.open(server.port)

/** The condition with which the connection is closed. */
async function closedWith(client: RawClient): Promise<unknown> {
  const { fields } = await client.next(CLOSE)
  await client.ended
  return conditionOf(fields[0])
}

function conditionOf(error: unknown): unknown {
  const value: unknown =
    typeof error === 'object' && error !== null ? Reflect.get(error, 'value') : error
  return Array.isArray(value) ? value[0] : value
}

/** The client is still served. */
async function isServed(client: RawClient): Promise<void> {
  client.write(frames.begin(9))
  await client.next(0x11)
}

async function withMessages(client: RawClient, count: number): Promise<void> {
  await client.sendTo(0, 'orders')
  for (let id = 0; id < count; id++) {
    client.write(frames.transfer(0, 0, id, message(`m${id}`)))
    await client.next(DISPOSITION)
  }
}

test('a transfer without an id, or without credit, ends its connection', async () => {
  await using first = await known()
  await first.sendTo(0, 'orders')
  first.write(frame(0, TRANSFER, [value.uint(0), value.null, value.binary(Buffer.from('a'))]))
  expect(await closedWith(first)).toBe('amqp:framing-error')
  await using second = await known()
  await second.sendTo(0, 'orders')
  const flood = Array.from({ length: 1500 }, (_, id) => frames.transfer(0, 0, id, message('x')))
  second.write(...flood)
  expect(await closedWith(second)).toBe('amqp:link:transfer-limit-exceeded')
})

test('a field of another type than AMQP gives it ends its connection', async () => {
  const flows = [value.list(), value.string('1'), value.true]
  for (const count of flows) {
    await using client = await known()
    await client.sendTo(0, 'orders')
    const numbers = [value.uint(0), value.uint(9), value.uint(0), value.uint(9)]
    client.write(frame(0, FLOW, [...numbers, value.uint(0), count, value.uint(0), value.null]))
    expect(await closedWith(client)).toBe('amqp:decode-error')
  }
})

test('a drain of the largest credit is answered, also before a token was shown', async () => {
  await using client = await stranger()
  client.write(frames.attachReceiver(0, 0, source('$cbs')))
  await client.next(ATTACH)
  client.write(frames.flow(0, { handle: 0, credit: MAX, drain: true, echo: true }))
  const { fields } = await client.next(FLOW)
  expect(fields.slice(4, 9)).toEqual([0, MAX, 0, null, true])
})

test('a receiving link drains the largest credit after what there is', async () => {
  await using client = await known()
  await withMessages(client, 2)
  client.write(
    frames.attachReceiver(0, 1, source('orders')),
    frames.flow(0, { handle: 1, credit: MAX, drain: true }),
  )
  await client.next(TRANSFER)
  await client.next(TRANSFER)
  const { fields } = await client.next(FLOW)
  expect(fields.slice(5, 9)).toEqual([MAX, 0, null, true])
})

test('an address of slashes, or one too long, names nothing', async () => {
  await using client = await known()
  for (const [handle, address] of ['/'.repeat(50_000), `a${'/'.repeat(50_000)}x`].entries()) {
    client.write(frames.attachSender(0, handle, address))
    const { fields } = await client.next(DETACH)
    expect(conditionOf(fields[2])).toBe('amqp:not-implemented')
  }
})

test('an aborted transfer is not stored, and its credit comes back', async () => {
  await using client = await known()
  await client.sendTo(0, 'orders')
  const nothing = [value.null, value.null, value.null, value.false, value.null]
  client.write(
    frames.transfer(0, 0, 0, message('aborted'), true),
    frame(0, TRANSFER, [
      value.uint(0),
      value.uint(0),
      ...nothing,
      value.null,
      value.null,
      value.true,
    ]),
    frames.transfer(0, 0, 1, message('whole')),
  )
  await client.next(DISPOSITION)
  const stored = await broker.createReceiver('orders').receiveMessages(5)
  expect(stored.map(({ body }) => Buffer.from(body as Uint8Array).toString())).toEqual(['whole'])
})

test('pieces without an end are thrown away, and the message is refused', async () => {
  await using client = await known()
  await client.sendTo(0, 'orders')
  const piece = frames.transfer(0, 0, 0, Buffer.alloc(60_000), true)
  for (let bytes = 0; bytes < 3_000_000; bytes += 60_000) client.write(piece)
  client.write(frames.transfer(0, 0, 0, Buffer.alloc(1)))
  const { fields } = await client.next(DISPOSITION)
  expect(
    JSON.stringify(fields[4], (_, part: unknown) =>
      typeof part === 'bigint' ? Number(part) : part,
    ),
  ).toContain('amqp:link:message-size-exceeded')
})

test('two transfers that are refused in one turn are answered one by one', async () => {
  await using client = await known()
  await client.sendTo(0, 'orders')
  const broken = [Buffer.from([0xff]), Buffer.alloc(0)]
  client.write(...broken.map((payload, id) => frames.transfer(0, 0, id, payload)))
  const first = await client.next(DISPOSITION)
  expect(first.fields.slice(1, 3)).toEqual([0, 0])
  const second = await client.next(DISPOSITION)
  expect(second.fields.slice(1, 3)).toEqual([1, 1])
  expect(second.fields[4]).not.toEqual(first.fields[4])
})

test.each([
  ['link', frames.detach(1, 0), DETACH],
  ['session', frames.end(1), END],
])('pieces count no longer when their %s has ended', async (_what, end, answer) => {
  const large = { maxMessageSizeInKilobytes: 102_400 }
  await broker.createQueue('large', large)
  await using client = await known()
  const piece = frames.transfer(1, 0, 0, Buffer.alloc(60_000), true)
  // 50 MB each, of which 128 MiB may be incomplete at once.
  for (let round = 0; round < 3; round++) {
    client.write(frames.begin(1), frames.attachSender(1, 0, 'large', `s${round}`))
    await client.next(FLOW)
    for (let bytes = 0; bytes < 50_000_000; bytes += 60_000) client.write(piece)
    client.write(end)
    await client.next(answer)
    if (answer === DETACH) client.write(frames.end(1))
  }
  await isServed(client)
})

test('a disposition of deliveries that were not sent, or long ago, changes nothing', async () => {
  await using client = await known()
  await withMessages(client, 3)
  client.write(
    frames.flow(0, undefined, { window: 0 }),
    frames.attachReceiver(0, 1, source('orders')),
    frames.flow(0, { handle: 1, credit: 3 }, { window: 0 }),
  )
  await client.next(ATTACH)
  await bystander.arrive(3)
  const all = { first: 0, last: MAX, state: ACCEPTED, settled: true }
  client.write(frames.disposition(0, all), frames.flow(0, undefined, { window: 10 }))
  for (let count = 0; count < 3; count++) await client.next(TRANSFER)
  client.write(frames.disposition(0, all), frames.disposition(0, all))
  await isServed(client)
})

test('a state that is not offered ends its connection', async () => {
  await using client = await known()
  await withMessages(client, 1)
  client.write(
    frames.attachReceiver(0, 1, source('orders')),
    frames.flow(0, { handle: 1, credit: 1 }),
  )
  await client.next(TRANSFER)
  const state = value.described(0x34, value.list())
  client.write(frames.disposition(0, { first: 0, last: 0, state, settled: true }))
  expect(await closedWith(client)).toBe('amqp:not-implemented')
})

test('frames smaller than AMQP allows, and idle times of any size, are no trap', async () => {
  for (const size of [0, 1, 60, 511]) {
    await using client = await RawClient.connect(server.port)
    client.write(AMQP_HEADER, frames.open([value.uint(size)]))
    await client.ended
  }
  for (const idle of [0, 1, MAX]) {
    await using client = await RawClient.connect(server.port)
    client.write(AMQP_HEADER, frames.open([value.null, value.null, value.uint(idle)]))
    await client.next(OPEN)
    client.write(frames.begin(0))
    await isServed(client)
  }
})

test('what comes before the outcome of SASL waits, and not without bound', async () => {
  await using pipelined = await RawClient.connect(server.port)
  const init = saslFrame(SASL_INIT, [value.symbol('ANONYMOUS')])
  pipelined.write(SASL_HEADER, init, AMQP_HEADER, frames.open(), frames.begin(0))
  await isServed(pipelined)
  await using endless = await RawClient.connect(server.port)
  endless.write(SASL_HEADER, AMQP_HEADER, Buffer.alloc(1024 * 1024))
  await endless.ended
})

test('SASL without a response, with an unknown mechanism or a wrong key ends the connection', async () => {
  const wrong = value.binary(Buffer.from('\0Root\0wrong'))
  for (const [mechanism, response] of [
    ['PLAIN', value.null],
    ['PLAIN', wrong],
    ['GSSAPI', value.null],
    ['__proto__', value.null],
    ['constructor', value.null],
    ['enable_plain', value.null],
  ] as const) {
    await using client = await RawClient.connect(server.port)
    client.write(SASL_HEADER, saslFrame(SASL_INIT, [value.symbol(mechanism), response]))
    await client.ended
    expect(
      client.frames.filter(({ code }) => code === SASL_OUTCOME).map(({ fields }) => fields[0]),
    ).not.toContain(0)
  }
})

test('a stranger has few links and sessions', async () => {
  await using links = await stranger()
  for (let handle = 0; handle < 20; handle++) {
    links.write(frames.attachReceiver(0, handle, source('$cbs')))
  }
  expect(await closedWith(links)).toBe('amqp:resource-limit-exceeded')
  await using sessions = await stranger()
  for (let channel = 1; channel < 20; channel++) sessions.write(frames.begin(channel))
  expect(await closedWith(sessions)).toBe('amqp:resource-limit-exceeded')
})

test('malformed requests end their link, and tokens of any kind are refused', async () => {
  for (const request of [
    value.described(0x99, value.list()),
    Buffer.concat([
      value.described(0x73, value.string('x')),
      value.described(0x74, value.string('x')),
    ]),
    value.string('x'),
    Buffer.from([0]),
  ]) {
    await using client = await stranger()
    await client.sendTo(0, '$cbs')
    client.write(frames.transfer(0, 0, 0, request))
    const { fields } = await client.next(DETACH)
    expect(conditionOf(fields[2])).toBe('amqp:decode-error')
  }
  await using client = await stranger()
  client.write(
    frames.attachReceiver(0, 1, source('$cbs')),
    frames.flow(0, { handle: 1, credit: 9 }),
  )
  await client.sendTo(0, '$cbs')
  const tokens = ['', 'x', `SharedAccessSignature sr=a${'/'.repeat(8000)}x&sig=y&se=1&skn=z`]
  for (const [id, token] of tokens.entries()) {
    client.write(frames.transfer(0, 0, id, tokenMessage(token, 'x', 'r1')))
    await client.next(TRANSFER)
  }
})

test('channels, handles and names can be used again in one write', async () => {
  await using client = await known()
  await client.sendTo(0, 'orders')
  client.write(frames.detach(0, 0), frames.attachSender(0, 0, 'orders', 'another'))
  await client.next(DETACH)
  await client.next(FLOW)
  client.write(frames.end(0), frames.begin(0), frames.attachSender(0, 0, 'orders'))
  await client.next(FLOW)
  client.write(frames.transfer(0, 0, MAX, message('x')), frames.transfer(0, 0, 0, message('x')))
  await client.next(DISPOSITION)
})

test('a handle, a name or a channel that is in use ends the connection', async () => {
  for (const again of [
    frames.attachSender(0, 0, 'orders', 'another'),
    frames.attachSender(0, 1, 'orders', 's0'),
    frames.begin(0),
    frames.flow(7),
    frames.detach(0, 9),
  ]) {
    await using client = await known()
    await client.sendTo(0, 'orders')
    client.write(again)
    expect(await closedWith(client)).toBe('amqp:framing-error')
  }
})

test('a credit that came before our answers is used', async () => {
  await using client = await known()
  await withMessages(client, 1)
  const flow = [value.null, value.uint(9), value.uint(0), value.uint(9), value.uint(1)]
  client.write(
    frames.attachReceiver(0, 1, source('orders')),
    frame(0, FLOW, [...flow, value.null, value.uint(1)]),
  )
  await client.next(TRANSFER)
})

test('session filters of any type, and a coordinator, are answered', async () => {
  await using client = await known()
  const nothing = Array.from({ length: 6 }, () => value.null)
  const filters = [value.uint(5), value.list(), value.map(), value.described(0x99, value.list())]
  for (const [handle, filter] of filters.entries()) {
    const filtered = value.map(value.symbol('com.microsoft:session-filter'), filter)
    client.write(frames.attachReceiver(0, handle, source('orders', ...nothing, filtered)))
    await client.next(DETACH)
  }
  const coordinator = value.described(0x30, value.list())
  const fields = [value.string('t'), value.uint(8), value.false, value.null, value.null]
  client.write(
    frame(0, ATTACH, [...fields, source('x'), coordinator, value.null, value.null, value.uint(0)]),
  )
  const { fields: detached } = await client.next(DETACH)
  expect(conditionOf(detached[2])).toBe('amqp:not-implemented')
})

test('floods of empty frames, flows and early disconnects disturb nobody', async () => {
  await using client = await known()
  client.write(...Array.from({ length: 20_000 }, () => EMPTY_FRAME))
  client.write(...Array.from({ length: 2000 }, () => frames.flow(0)))
  await isServed(client)
  for (const bytes of [Buffer.alloc(0), SASL_HEADER, AMQP_HEADER, SASL_HEADER.subarray(0, 5)]) {
    const gone = await RawClient.connect(server.port)
    gone.write(bytes)
    gone.socket.resetAndDestroy()
  }
})

test('a client that never reads is not read either, and one that never acknowledges is let go', async () => {
  await using deaf = await known()
  deaf.socket.pause()
  const noisy = frames.flow(0)
  for (let count = 0; count < 200; count++) deaf.write(...Array.from({ length: 200 }, () => noisy))
  await bystander.arrive(5)
  await using polite = await known()
  polite.write(frames.close())
  await polite.next(CLOSE)
  // Half of the connection stays open here: the server must not wait for it.
  await new Promise((resolve) => {
    polite.socket.once('close', resolve)
    polite.socket.once('error', resolve)
    const poke = setInterval(() => {
      if (!polite.socket.write(EMPTY_FRAME) && polite.socket.destroyed) clearInterval(poke)
    }, 100)
    polite.socket.once('close', () => clearInterval(poke))
  })
})
