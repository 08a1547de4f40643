import { setTimeout } from 'node:timers/promises'
import rhea from 'rhea'
import { describe, expect, test } from 'vitest'
import {
  ATTACH,
  BEGIN,
  CLOSE,
  DETACH,
  DISPOSITION,
  FLOW,
  frame,
  frames,
  message,
  RawClient,
  source,
  target,
  TRANSFER,
  value,
} from '../fuzz/amqp/raw-client.ts'
import { ROOT, tokenUntil } from './credentials.ts'
import { Namespace } from './interop-amqp.fixture.ts'

/** What the clients of other languages send, and the one for JavaScript cannot. */

const RECEIVER = { condition: 0, description: 1 }
const KEY = { name: ROOT.name, key: ROOT.key }
const STATE = { accepted: 0x24, rejected: 0x25, released: 0x26, modified: 0x27 }
const TRUE_WITH_A_BYTE = Buffer.from([0x56, 1])

/** `apache.org:selector-filter:string` as a ulong. */
const LARGE_SELECTOR_CODE = Buffer.from('800000468c00000004', 'hex')

interface Described {
  readonly descriptor: number
  readonly value: readonly unknown[]
}

/** Of a message that a front has sent. */
function decodedPayload(payload: Buffer): rhea.Message {
  return rhea.message.decode(payload) as unknown as rhea.Message
}

/** A request to `$cbs` as the client for Python sends it. */
function tokenOfPython(token: string, audience: string): Buffer {
  return rhea.message.encode({
    message_id: 1,
    application_properties: { operation: 'put-token', type: 'jwt', name: audience },
    body: token,
  })
}

describe('a token', () => {
  test.each([
    ['of an entity that is there', 'orders', 202],
    ['of one that is missing', 'nowhere', 404],
  ])(
    '%s, under another type and without reply-to, is answered on the link of the session',
    async (_, path, status) => {
      await using space = await Namespace.open()
      await space.broker.createQueue('orders')
      await using client = await RawClient.open(space.front.port)
      client.write(frames.begin(1))
      // Of another session: the answer must not go there.
      client.write(frames.attachReceiver(0, 0, source('$cbs'), 'other'))
      client.write(frames.attachReceiver(1, 0, source('$cbs'), 'answers'))
      client.write(
        frames.flow(0, { handle: 0, credit: 10 }),
        frames.flow(1, { handle: 0, credit: 10 }),
      )
      client.write(frames.attachSender(1, 1, '$cbs'))
      await client.next(FLOW)
      const audience = `sb://localhost/${path}`
      client.write(
        frames.transfer(
          1,
          1,
          0,
          tokenOfPython(tokenUntil(ROOT, space.clock.wallMs() + 60_000), audience),
        ),
      )
      const { channel, payload } = await client.next(TRANSFER)
      const { application_properties: properties } = decodedPayload(payload)
      expect(properties?.['status-code']).toBe(status)
      expect(
        client.frames.find(({ code, fields }) => code === BEGIN && fields[0] === 1)?.channel,
      ).toBe(channel)
    },
  )
})

async function withMessage(): Promise<{ readonly space: Namespace; readonly client: RawClient }> {
  const space = await Namespace.open()
  await space.broker.createQueue('orders')
  await space.broker.createSender('orders').sendMessages({ body: 1 })
  const client = await RawClient.open(space.front.port, KEY)
  client.write(
    frames.attachReceiver(0, 0, source('orders')),
    frames.flow(0, { handle: 0, credit: 1 }),
  )
  await client.next(TRANSFER)
  return { space, client }
}

describe('a settlement', () => {
  test.each([
    ['accepted', value.list()],
    ['released', value.list()],
    ['modified', value.list()],
    ['rejected', value.list()],
  ] as const)('that is %s is answered so, without an error', async (outcome, fields) => {
    const { space, client } = await withMessage()
    await using _ = space
    await using __ = client
    const state = value.described(STATE[outcome], fields)
    client.write(frames.disposition(0, { first: 0, last: 0, state, settled: false }))
    const { fields: answer } = await client.next(DISPOSITION)
    expect(answer[3]).toBe(true)
    const { descriptor, value: content } = answer[4] as Described
    expect(descriptor).toBe(STATE[outcome])
    expect(content.filter((field) => field !== null)).toEqual([])
  })

  test('with a boolean that has a byte of its own defers', async () => {
    const { space, client } = await withMessage()
    await using _ = space
    await using __ = client
    const state = value.described(STATE.modified, value.list(value.null, TRUE_WITH_A_BYTE))
    client.write(frames.disposition(0, { first: 0, last: 0, state, settled: false }))
    await client.next(DISPOSITION)
    const [deferred] = await space.broker.createReceiver('orders').peekMessages(1)
    expect(deferred?.state).toBe('deferred')
  })

  test('keeps the types of properties', async () => {
    const { space, client } = await withMessage()
    await using _ = space
    await using __ = client
    const given = {
      ulong: Buffer.from('80ffffffffffffffff', 'hex'),
      // The first numbers that a double cannot hold.
      long: Buffer.from('810020000000000001', 'hex'),
      negative: Buffer.from('81ffdfffffffffffff', 'hex'),
      above: Buffer.from('800020000000000001', 'hex'),
      small: Buffer.from('5305', 'hex'),
      guid: Buffer.from(`98${'ab'.repeat(16)}`, 'hex'),
      decimal: Buffer.from(`94${'30'.repeat(16)}`, 'hex'),
      char: Buffer.from('7300000041', 'hex'),
      float: Buffer.from('723fc00000', 'hex'),
      span: Buffer.concat([
        Buffer.from([0]),
        value.symbol('com.microsoft:timespan'),
        Buffer.from('810000000000000001', 'hex'),
      ]),
    }
    const map = value.map(
      ...Object.entries(given).flatMap(([name, bytes]) => [value.symbol(name), bytes]),
    )
    const state = value.described(STATE.modified, value.list(value.null, value.null, map))
    client.write(frames.disposition(0, { first: 0, last: 0, state, settled: false }))
    await client.next(DISPOSITION)
    client.write(frames.flow(0, { handle: 0, credit: 1, count: 1 }))
    const { payload } = await client.next(TRANSFER)
    // rhea writes a small ulong and a small symbol otherwise, with the same types.
    const wide = {
      ...given,
      small: Buffer.from('800000000000000005', 'hex'),
      char: value.string('A'),
    }
    for (const [name, bytes] of Object.entries(wide)) {
      const place = payload.indexOf(
        Buffer.from(`\u00a1${String.fromCharCode(name.length)}${name}`, 'latin1'),
      )
      expect(place, name).toBeGreaterThan(0)
      if (name !== 'char' && name !== 'span') {
        const at = place + 2 + name.length
        expect(payload.subarray(at, at + bytes.length).toString('hex'), name).toBe(
          bytes.toString('hex'),
        )
      }
    }
    expect(payload.includes('com.microsoft:timespan')).toBe(true)
  })
})

describe('errors', () => {
  test('have three fields, of a refused message and of a connection', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await using client = await RawClient.open(space.front.port, KEY)
    await client.sendTo(0, 'orders')
    client.write(frames.transfer(0, 0, 0, Buffer.from('nonsense')))
    const { fields: answer } = await client.next(DISPOSITION)
    const [refusal] = (answer[4] as Described).value as readonly Described[]
    expect(refusal?.value).toHaveLength(3)
    client.write(frames.transfer(0, 0, 7, message('a')))
    const { fields } = await client.next(CLOSE)
    const error = (fields[0] as Described).value
    expect(error).toHaveLength(3)
    expect(error[RECEIVER.description]).toContain('delivery-id 7 where 1 is the next one')
  })

  test('a request whose delivery-id was used before is served', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await using client = await RawClient.open(space.front.port, KEY)
    const node = 'orders/$management'
    client.write(
      frames.attachReceiver(0, 0, source(node)),
      frames.flow(0, { handle: 0, credit: 10 }),
    )
    await client.next(ATTACH)
    await client.sendTo(1, node)
    const request = rhea.message.encode({
      application_properties: { operation: 'com.microsoft:peek-message' },
      body: { 'from-sequence-number': rhea.types.wrap_long(0), 'message-count': 1 },
    })
    client.write(frames.transfer(0, 1, 0, request), frames.transfer(0, 1, 0, request))
    for (let answered = 0; answered < 2; answered++) {
      const { payload } = await client.next(TRANSFER)
      expect(decodedPayload(payload).application_properties?.['statusCode']).toBe(204)
    }
  })
})

describe('an attach', () => {
  function attach(
    handle: number,
    {
      role,
      modes = [value.null, value.null],
      from,
      to,
      name = 'link',
    }: {
      readonly role: Buffer
      readonly modes?: readonly Buffer[]
      readonly from: Buffer
      readonly to: Buffer
      readonly name?: string
    },
  ): Buffer {
    const counts = [value.null, value.null, value.uint(0)]
    return frame(0, ATTACH, [
      value.string(name),
      value.uint(handle),
      role,
      ...modes,
      from,
      to,
      ...counts,
    ])
  }

  const filtered = (path: string, filter: Buffer): Buffer =>
    source(path, ...Array.from({ length: 6 }, () => value.null), filter)

  test.each([
    ['a selector by its code', value.symbol('jms-selector'), LARGE_SELECTOR_CODE, 'selectors'],
    [
      'a selector by its name',
      value.symbol('jms-selector'),
      value.symbol('apache.org:selector-filter:string'),
      'selectors',
    ],
    [
      'a session that is not exclusive',
      value.symbol('com.microsoft:non-exclusive-session-filter'),
      value.symbol('com.microsoft:non-exclusive-session-filter:list'),
      'sessions that several receivers hold',
    ],
  ])('with a filter that is not in force is refused by name: %s', async (_, key, type, text) => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await using client = await RawClient.open(space.front.port, KEY)
    const described = Buffer.concat([Buffer.from([0]), type, value.string("color = 'red'")])
    const from = filtered('orders', value.map(key, described))
    client.write(attach(0, { role: value.true, from, to: target('me') }))
    expect((await client.next(ATTACH)).fields[5]).toBe(null)
    const error = ((await client.next(DETACH)).fields[2] as Described).value
    expect(error[RECEIVER.condition]).toBe('amqp:not-implemented')
    expect(error[RECEIVER.description]).toContain(text)
  })

  test('of a node is answered with the settle mode that was asked for', async () => {
    await using space = await Namespace.open()
    await using client = await RawClient.open(space.front.port, KEY)
    const modes = [value.ubyte(1), value.ubyte(0)]
    client.write(attach(0, { role: value.false, modes, from: source('me'), to: target('$cbs') }))
    const { fields } = await client.next(ATTACH)
    expect(fields[3]).toBe(1)
  })

  test('of a sender and of a receiver may have one name', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await using client = await RawClient.open(space.front.port, KEY)
    client.write(attach(0, { role: value.false, from: source('me'), to: target('orders') }))
    client.write(attach(1, { role: value.true, from: source('orders'), to: target('me') }))
    const attached = [await client.next(ATTACH), await client.next(ATTACH)]
    expect(attached.map(({ fields }) => fields[0])).toEqual(['link', 'link'])
    client.write(frames.transfer(0, 0, 0, message('a')), frames.flow(0, { handle: 1, credit: 1 }))
    expect((await client.next(TRANSFER)).payload.includes('a')).toBe(true)
    client.write(frames.detach(0, 0))
    await client.next(DETACH)
    client.write(attach(0, { role: value.false, from: source('me'), to: target('orders') }))
    expect((await client.next(ATTACH)).fields[0]).toBe('link')
  })

  test('is answered with a filter of the kind that was asked for, and with none that is not in force', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await space.broker.createQueue('sessions', { requiresSession: true })
    await using client = await RawClient.open(space.front.port, KEY)
    const name = 'com.microsoft:session-filter'
    const described = Buffer.concat([Buffer.from([0]), value.symbol(name), value.string('a')])
    const sessions = filtered('sessions', value.map(value.symbol(name), described))
    client.write(attach(0, { role: value.true, from: sessions, to: target('me') }))
    const granted = (await client.next(ATTACH)).fields[5] as Described
    expect(granted.value[7]).toEqual([name, { descriptor: name, value: 'a' }])
    const unknown = value.map(value.symbol('no-local'), value.string('x'))
    const plain = filtered('orders', unknown)
    client.write(attach(1, { role: value.true, from: plain, to: target('me'), name: 'plain' }))
    const answered = (await client.next(ATTACH)).fields[5] as Described
    expect(answered.value[0]).toBe('orders')
    expect(answered.value[7] ?? null).toBe(null)
  })

  test.each([
    ['moves messages', []],
    ['looks at them', [...Array.from({ length: 5 }, () => value.null), value.symbol('copy')]],
  ])('to receive from a topic is refused, without a source: a link that %s', async (_, fields_) => {
    await using space = await Namespace.open()
    await space.broker.createTopic('news')
    await using client = await RawClient.open(space.front.port, KEY)
    client.write(frames.attachReceiver(0, 0, source('news', ...fields_)))
    expect((await client.next(ATTACH)).fields[5]).toBe(null)
    const { fields } = await client.next(DETACH)
    const error = (fields[2] as Described).value
    expect(error[RECEIVER.condition]).toBe('amqp:not-allowed')
    expect(error[RECEIVER.description]).toContain('receive from one of its subscriptions')
  })

  test('with the distribution mode copy looks at messages, and takes none', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders')
    await space.broker.createSender('orders').sendMessages([{ body: 1 }, { body: 2 }])
    await using client = await RawClient.open(space.front.port, KEY)
    const copy = source(
      'orders',
      ...Array.from({ length: 5 }, () => value.null),
      value.symbol('copy'),
    )
    client.write(frames.attachReceiver(0, 0, copy))
    client.write(frames.flow(0, { handle: 0, credit: 5, drain: true }))
    const bodies = [await client.next(TRANSFER), await client.next(TRANSFER)].map(({ payload }) =>
      String((decodedPayload(payload).body as { content: Buffer }).content),
    )
    expect(bodies).toEqual(['1', '2'])
    // The drain is answered: there are no more.
    const { fields } = await client.next(FLOW)
    expect([fields[6], fields[8]]).toEqual([0, true])
    expect(
      await space.broker.createReceiver('orders').receiveMessages(3, { maxWaitTimeInMs: 0 }),
    ).toHaveLength(2)
  })
})

test('a client begins as many sessions as it was told before it shows a token', async () => {
  await using space = await Namespace.open()
  await using client = await RawClient.open(space.front.port)
  for (let channel = 1; channel < 100; channel++) client.write(frames.begin(channel))
  for (let channel = 1; channel < 100; channel++) await client.next(BEGIN)
})

test('one message that is held does not stop the others', async () => {
  await using space = await Namespace.open()
  await space.broker.createQueue('orders')
  const bodies = Array.from({ length: 2_500 }, (_, body) => ({ body }))
  await space.broker.createSender('orders').sendMessages(bodies)
  await using client = await RawClient.open(space.front.port, KEY)
  client.write(frames.attachReceiver(0, 0, source('orders')))
  const state = value.described(STATE.accepted, value.list())
  const window = { window: 10_000 }
  client.write(frames.flow(0, { handle: 0, credit: 2_500 }, window))
  for (let received = 0; received < 2_500; received++) {
    await client.next(TRANSFER)
    const one = { first: received, last: received, state, settled: false }
    if (received > 0) client.write(frames.disposition(0, one))
  }
  await expect
    .poll(async () => (await space.broker.createReceiver('orders').peekMessages(10)).length)
    .toBe(1)
})

test('as many messages as a client wants are on their way, unsettled', async () => {
  await using space = await Namespace.open()
  await space.broker.createQueue('orders')
  const bodies = Array.from({ length: 4_500 }, (_, body) => ({ body }))
  await space.broker.createSender('orders').sendMessages(bodies)
  await using client = await RawClient.open(space.front.port, KEY)
  client.write(frames.attachReceiver(0, 0, source('orders')))
  client.write(frames.flow(0, { handle: 0, credit: 4_500 }, { window: 10_000 }))
  for (let received = 0; received < 4_500; received++) await client.next(TRANSFER)
})

describe('a front that stops', () => {
  test('says that it is forced, and tells nobody that a late message was taken', async () => {
    const { space, client } = await withMessage()
    await using _ = space
    await using __ = client
    client.write(frames.attachSender(0, 1, 'orders', 'sender'))
    await client.next(FLOW)
    const stopped = space.front.stop()
    client.write(frames.transfer(0, 1, 0, message('late')))
    const state = value.described(STATE.accepted, value.list())
    client.write(frames.disposition(0, { first: 0, last: 0, state, settled: false }))
    const { fields } = await client.next(CLOSE)
    client.socket.end()
    await stopped
    expect((fields[0] as Described).value[RECEIVER.condition]).toBe('amqp:connection:forced')
    // Nobody was told that it was done, unless it was.
    const taken = client.frames.filter(
      ({ code, fields: [role, , , , answer] }) =>
        code === DISPOSITION &&
        role === true &&
        (answer as Described).descriptor === STATE.accepted,
    )
    const left = await space.broker.createReceiver('orders').peekMessages(10)
    expect(left.filter(({ body }) => body instanceof Uint8Array)).toHaveLength(taken.length)
  })

  test('a session whose lock has ended ends its link, without credit, too', async () => {
    await using space = await Namespace.open()
    await space.broker.createQueue('orders', { requiresSession: true, lockDuration: 50 })
    await using client = await RawClient.open(space.front.port, KEY)
    const filter = value.map(value.symbol('com.microsoft:session-filter'), value.string('a'))
    const from = source('orders', ...Array.from({ length: 6 }, () => value.null), filter)
    client.write(frames.attachReceiver(0, 0, from))
    await client.next(ATTACH)
    await setTimeout(60)
    const { fields } = await client.next(DETACH)
    expect((fields[2] as Described).value[0]).toBe('com.microsoft:session-lock-lost')
  })
})
