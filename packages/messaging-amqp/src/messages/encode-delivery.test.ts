import rhea from 'rhea'
import {
  DEFERRED,
  SCHEDULED,
  type MessageChanges,
  type StoredMessage,
} from '@tidemark/messaging/front'
import { describe, expect, test } from 'vitest'
import { encodeDelivery } from './encode-delivery.ts'
import { decoded, NOW_MS, rheaBytes, rheaMessage, storedMessage } from './stored-message.fixture.ts'
import { NEVER_MS } from './message-fields.ts'

const { types, message: amqp } = rhea
const NEVER = rheaBytes({ body: amqp.data_section(Buffer.from('1')) })
const MAX_UINT = 4_294_967_295
const DAY_MS = 86_400_000

function delivered(
  sent: Buffer,
  row: Partial<StoredMessage> = {},
  lock?: { readonly untilUtcMs: number },
): rhea.Message {
  return rheaMessage(encodeDelivery(storedMessage(decoded(sent), row), lock))
}

function changed(changes: MessageChanges): { readonly changes: string } {
  return { changes: JSON.stringify(changes) }
}

/** What the broker's own API has sent. */
function own(head: object, body: Buffer | string, row: Partial<StoredMessage> = {}): StoredMessage {
  const text = JSON.stringify({ bodyKind: 'json', messageId: 'm', ...head })
  return storedMessage({ ...decoded(NEVER), head: text, body: Buffer.from(body) }, row)
}

describe('times', () => {
  test('EXP-01 header and properties have the effective TTL, not that of the client', () => {
    const sent = rheaBytes({
      ttl: 3_600_000,
      creation_time: new Date(1),
      absolute_expiry_time: new Date(2),
      body: 1,
    })
    const row = { ttlMs: 2_000, expiresMs: NOW_MS + 2_000 }
    expect(delivered(sent, row)).toMatchObject({
      ttl: 2_000,
      creation_time: new Date(NOW_MS),
      absolute_expiry_time: new Date(NOW_MS + 2_000),
    })
  })

  test('EXP-12 without a TTL, none of the three is there', () => {
    const message = delivered(NEVER)
    for (const name of ['ttl', 'creation_time', 'absolute_expiry_time']) {
      expect(message).not.toHaveProperty(name)
    }
  })

  test('SET-17 without a TTL, the times that the client gave come back', () => {
    const times = { creation_time: new Date(1), absolute_expiry_time: new Date(2) }
    const message = delivered(rheaBytes({ message_id: 'm', ...times, body: 1 }))
    expect(message).toMatchObject(times)
    expect(message).not.toHaveProperty('ttl')
  })

  test.each([
    ['at its maximum, the times say it', MAX_UINT, 60 * DAY_MS, 60 * DAY_MS],
    ['at its maximum, and the times are in no order', MAX_UINT, -1, MAX_UINT],
    ['below it, the times do not count', 5, 60 * DAY_MS, 5],
  ])('EXP-25 a TTL %s', (_, ttl, lifeMs, expected) => {
    const times = {
      creation_time: new Date(NOW_MS),
      absolute_expiry_time: new Date(NOW_MS + lifeMs),
    }
    expect(decoded(rheaBytes({ ttl, ...times, body: 1 })).ttlMs).toBe(expected)
  })

  test('EXP-25 a TTL that ends with the year 9999 is none, and no expiry is shown', () => {
    const times = { creation_time: new Date(NOW_MS), absolute_expiry_time: new Date(NEVER_MS) }
    const bytes = rheaBytes({ message_id: 'm', ttl: MAX_UINT, ...times, body: 1 })
    expect(decoded(bytes).ttlMs).toBeUndefined()
    const message = delivered(bytes)
    expect(message).toMatchObject({ creation_time: new Date(NOW_MS) })
    expect(message).not.toHaveProperty('absolute_expiry_time')
    expect(message).not.toHaveProperty('ttl')
  })

  test.each([
    [1, 1],
    [MAX_UINT - 1, MAX_UINT - 1],
    [MAX_UINT, MAX_UINT],
    [MAX_UINT + 1, undefined],
    [8_640_000_000, undefined],
  ])('EXP-25 a TTL of %s ms is in the header as %s, and exact in the properties', (ttlMs, ttl) => {
    const message = delivered(NEVER, { ttlMs, expiresMs: NOW_MS + ttlMs })
    expect(message.ttl).toBe(ttl)
    expect(message).toMatchObject({
      creation_time: new Date(NOW_MS),
      absolute_expiry_time: new Date(NOW_MS + ttlMs),
    })
  })

  test('EXP-20 a message that has a TTL but does not expire shows when it would have', () => {
    const message = delivered(NEVER, { ttlMs: 5, expiresMs: undefined })
    expect(message.absolute_expiry_time).toEqual(new Date(NOW_MS + 5))
  })
})

describe('header and annotations', () => {
  test.each([0, 1, 255, 256])('SET-02 deliveryCount is %s', (deliveries) => {
    const sent = rheaBytes({ delivery_count: 9, body: 1 })
    expect(delivered(sent, { deliveries }).delivery_count).toBe(deliveries)
  })

  test('durable and priority come back, if they were given', () => {
    expect(delivered(rheaBytes({ durable: true, priority: 7, body: 1 }))).toMatchObject({
      durable: true,
      priority: 7,
    })
    expect(delivered(NEVER)).not.toHaveProperty('priority')
    expect(delivered(rheaBytes({ durable: false, priority: 0, body: 1 })).priority).toBe(0)
  })

  test('SET-18 the broker says what it knows', () => {
    const lock = { untilUtcMs: NOW_MS + 30_000 }
    const { message_annotations } = delivered(NEVER, { deadLetterSource: 'q' }, lock)
    expect(message_annotations).toEqual({
      'x-opt-sequence-number': 7,
      'x-opt-enqueue-sequence-number': 5,
      'x-opt-enqueued-time': new Date(NOW_MS),
      'x-opt-message-state': 0,
      'x-opt-locked-until': new Date(lock.untilUtcMs),
      'x-opt-deadletter-source': 'q',
    })
  })

  test('SET-05 SCH-05 states are numbers, and a scheduled message has its time', () => {
    expect(delivered(NEVER, { state: DEFERRED }).message_annotations).toMatchObject({
      'x-opt-message-state': 1,
    })
    expect(delivered(NEVER, { state: SCHEDULED }).message_annotations).toMatchObject({
      'x-opt-message-state': 2,
      'x-opt-scheduled-enqueue-time': new Date(NOW_MS),
    })
  })

  test('SET-17 annotations of the client come back, but not in place of those of the broker', () => {
    const message_annotations = {
      'x-opt-partition-key': 'p',
      'x-opt-sequence-number': 99,
      'x-opt-scheduled-enqueue-time': new Date(1),
      'x-opt-locked-until': new Date(1),
      'x-own': { deep: [1] },
      'x-opt-via-partition-key': 'v',
    }
    const message = delivered(rheaBytes({ message_annotations, body: 1 }))
    expect(message.message_annotations).toEqual({
      'x-opt-sequence-number': 7,
      'x-opt-enqueue-sequence-number': 5,
      'x-opt-enqueued-time': new Date(NOW_MS),
      'x-opt-message-state': 0,
      'x-opt-partition-key': 'p',
      'x-opt-scheduled-enqueue-time': new Date(1),
      'x-own': { deep: [1] },
      'x-opt-via-partition-key': 'v',
    })
  })

  test('EXP-01 numbers beyond 32 bits are exact', () => {
    const number = 2 ** 40 + 3
    expect(delivered(NEVER, { number }).message_annotations).toMatchObject({
      'x-opt-sequence-number': number,
    })
  })
})

describe('properties of a message that came over AMQP', () => {
  const sent = rheaBytes({
    message_id: types.wrap_ulong(7),
    user_id: Buffer.from('u'),
    to: 't',
    subject: 'l',
    reply_to: 'r',
    correlation_id: types.wrap_uuid(Buffer.alloc(16, 1)),
    content_type: 'c',
    content_encoding: 'gzip',
    group_id: 's',
    group_sequence: 9,
    reply_to_group_id: 'rs',
    application_properties: {
      int: types.wrap_int(300),
      long: types.wrap_long(300),
      sym: types.wrap_symbol('sym'),
      gone: 1,
    },
    body: amqp.sequence_section([1]),
    footer: { 'x-sum': 1 },
  })

  /** The bytes of the application properties, with their types. */
  const applicationProperties = (bytes: Buffer): Buffer => {
    const start = bytes.indexOf(Buffer.from('005374', 'hex'))
    return bytes.subarray(start, bytes.indexOf(Buffer.from('005378', 'hex'), start))
  }

  test('SET-17 all of them come back with their types', () => {
    const message = delivered(sent)
    expect(message).toMatchObject({ ...rheaMessage(sent) })
  })

  test('SET-17 application properties and body are the same bytes', () => {
    const bytes = encodeDelivery(storedMessage(decoded(sent)), undefined)
    const place = (code: string): number => sent.indexOf(Buffer.from(`0053${code}`, 'hex'))
    const [properties, footer, body] = [place('74'), place('78'), place('76')]
    // rhea writes a footer before the body; it belongs behind it.
    const kept = [
      sent.subarray(properties, footer),
      sent.subarray(body),
      Buffer.from('005378', 'hex'),
    ]
    expect(bytes.includes(Buffer.concat(kept))).toBe(true)
  })

  test('SET-17 a message that was sent without an id has the one that it got', () => {
    for (const bytes of [
      NEVER,
      rheaBytes({ subject: 'x', body: 1 }),
      Buffer.from('005375a000', 'hex'),
    ]) {
      const message = decoded(bytes)
      const { message_id, subject } = rheaMessage(encodeDelivery(storedMessage(message), undefined))
      expect(message_id).toBe(message.messageId)
      expect(subject).toBe(rheaMessage(bytes).subject)
    }
  })

  test('TOP-06 what an action has set or removed is written, and the rest keeps its types', () => {
    const message = delivered(
      sent,
      changed({
        system: { subject: 'changed', contentType: 'new', to: null, correlationId: null },
      }),
    )
    expect(message).toMatchObject({
      message_id: 7,
      subject: 'changed',
      content_type: 'new',
      reply_to: 'r',
      group_sequence: 9,
    })
    expect(message).not.toHaveProperty('to')
    expect(message).not.toHaveProperty('correlation_id')
  })

  test('the official client can renew the lock of a message whose id a rule has removed', () => {
    expect(delivered(sent, changed({ system: { messageId: null } })).message_id).toBe('1')
  })

  test('SET-02 SET-04 changed application properties are replaced, removed or added', () => {
    const row = changed({
      properties: { int: 'now a text', DeadLetterReason: 'because' },
      removed: ['gone', 'never there'],
    })
    const bytes = encodeDelivery(storedMessage(decoded(sent), row), undefined)
    const { application_properties, body, footer } = rheaMessage(bytes)
    expect(application_properties).toEqual({
      long: 300,
      sym: 'sym',
      int: 'now a text',
      DeadLetterReason: 'because',
    })
    // The long and the symbol are still what they were.
    expect(applicationProperties(bytes).includes(Buffer.from('81000000000000012c', 'hex'))).toBe(
      true,
    )
    expect(applicationProperties(bytes).includes(Buffer.from('a30373796d', 'hex'))).toBe(true)
    expect([body, footer]).toEqual([rheaMessage(sent).body, { 'x-sum': 1 }])
  })

  test('TOP-06 those that an action has only removed are gone', () => {
    const row = changed({ removed: ['gone', 'sym'] })
    expect(Object.keys(delivered(sent, row).application_properties ?? {})).toEqual(['int', 'long'])
  })

  test('SET-04 they are added to a message that had none', () => {
    const row = changed({ properties: { DeadLetterReason: 'because' } })
    const message = delivered(NEVER, row)
    expect(message.application_properties).toEqual({ DeadLetterReason: 'because' })
    expect(message.body).toEqual(rheaMessage(NEVER).body)
    expect(delivered(NEVER, changed({ removed: ['a'] }))).not.toHaveProperty(
      'application_properties',
    )
    expect(delivered(NEVER, changed({ diedMs: 5 }))).not.toHaveProperty('application_properties')
  })

  test('changes may be much longer than what was sent', () => {
    const properties = { [`${'n'.repeat(300)}é`]: 'x'.repeat(100_000), bytes: { bytes: 'AQL/' } }
    const message = delivered(sent, changed({ properties, system: { subject: 's'.repeat(5_000) } }))
    expect(message.application_properties).toMatchObject({
      [`${'n'.repeat(300)}é`]: 'x'.repeat(100_000),
      bytes: Buffer.from([1, 2, 255]),
    })
    expect(message).toMatchObject({ subject: 's'.repeat(5_000), body: rheaMessage(sent).body })
  })

  test.each<[string, unknown, string]>([
    ['int', -5, '71fffffffb'],
    ['smallest int', -(2 ** 31), '7180000000'],
    ['long', 2 ** 31, '810000000080000000'],
    ['negative long', -(2 ** 40), '81ffffff0000000000'],
    ['double', 0.5, '823fe0000000000000'],
    ['large double', 1e300, '827e37e43c8800759c'],
    ['negative zero', { double: '-0' }, '828000000000000000'],
    ['infinity', { double: 'Infinity' }, '827ff0000000000000'],
    ['exact long', { long: '-9223372036854775808' }, '818000000000000000'],
    ['ulong', { ulong: '18446744073709551615' }, '80ffffffffffffffff'],
    ['date', { date: 5 }, '830000000000000005'],
    ['distant time', { timestamp: '9000000000000000' }, '83001ff973cafa8000'],
    [
      'uuid',
      { uuid: '00112233-4455-6677-8899-aabbccddeeff' },
      '9800112233445566778899aabbccddeeff',
    ],
    ['bytes', { bytes: 'AQL/' }, 'a0030102ff'],
    ['decimal', { decimal64: '0102030405060708' }, '840102030405060708'],
    ['true', true, '41'],
    ['false', false, '42'],
    ['null', null, '40'],
    ['text', 'é', 'a102c3a9'],
    ['kind that nobody knows', { strange: 5 }, '40'],
  ])('a change is written as what it is: %s', (_, value, hex) => {
    const changes = JSON.stringify({ properties: { a: value } })
    const bytes = encodeDelivery(storedMessage(decoded(NEVER), { changes }), undefined)
    expect(bytes.toString('hex')).toContain(`a10161${hex}005375`)
  })
})

describe('a message of the broker’s own API', () => {
  test('SET-17 has one data section, and all properties', () => {
    const message = own(
      {
        contentType: 'c',
        correlationId: 'r',
        partitionKey: 's',
        sessionId: 's',
        replyToSessionId: 'rs',
        subject: 'l',
        to: 't',
        replyTo: 'rt',
        properties: { n: 1, big: { long: '4611686018427387905' }, at: { date: 5 }, none: null },
      },
      '{"a":1}',
    )
    const received = rheaMessage(encodeDelivery(message, undefined))
    expect(received).toMatchObject({
      message_id: 'm',
      content_type: 'c',
      correlation_id: 'r',
      group_id: 's',
      reply_to_group_id: 'rs',
      subject: 'l',
      to: 't',
      reply_to: 'rt',
      body: amqp.data_section(Buffer.from('{"a":1}')),
    })
    expect(received.message_annotations).toMatchObject({ 'x-opt-partition-key': 's' })
    expect(received.application_properties).toEqual({
      n: 1,
      big: Buffer.from('4000000000000001', 'hex'),
      at: new Date(5),
      none: null,
    })
  })

  test.each<[string, object, string | Buffer, string | Buffer]>([
    ['text', {}, '"x"', '"x"'],
    ['undefined', {}, '', 'null'],
    ['bytes', { bodyKind: 'bytes' }, Buffer.from([0, 255]), Buffer.from([0, 255])],
    ['no bytes', { bodyKind: 'bytes' }, '', ''],
    ['many bytes', { bodyKind: 'bytes' }, Buffer.alloc(70_000, 1), Buffer.alloc(70_000, 1)],
  ])('SET-17 a body that was %s arrives', (_, head, body, seen) => {
    const { body: received } = rheaMessage(encodeDelivery(own(head, body), undefined))
    expect(received).toEqual(amqp.data_section(Buffer.from(seen)))
  })

  test('SET-04 changes lie over what was sent', () => {
    const changes = JSON.stringify({
      properties: { n: 2, DeadLetterReason: 'because' },
      removed: ['gone'],
      system: { subject: null, to: 'new' },
    })
    const message = own({ subject: 'l', properties: { n: 1, gone: 1 } }, '1', { changes })
    const received = rheaMessage(encodeDelivery(message, undefined))
    expect(received.application_properties).toEqual({ n: 2, DeadLetterReason: 'because' })
    expect(received).not.toHaveProperty('subject')
    expect(received.to).toBe('new')
  })
})

test.each<[string, Partial<StoredMessage>]>([
  ['a head that is no JSON', { head: '{' }],
  ['changes that are no JSON', { changes: '{' }],
  ['bytes that are cut off', { body: Buffer.from('005373c0ff01', 'hex') }],
  ['bytes that are no sections', { body: Buffer.from('xyz') }],
])('%s are damage of the store', (_, row) => {
  expect(() => encodeDelivery(storedMessage(decoded(NEVER), row), undefined)).toThrow(
    expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }),
  )
})
