import fc from 'fast-check'
import rhea from 'rhea'
import { systemRandom, CodedError } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { decodeTransfer } from './decode-transfer.ts'
import { encodeDelivery } from './encode-delivery.ts'
import {
  batchOf,
  decoded,
  headIn,
  rheaBytes,
  rheaMessage,
  storedMessage,
} from './stored-message.fixture.ts'

const { types, message: amqp } = rhea
const MALFORMED: unknown = expect.objectContaining({ code: 'ERR_MALFORMED_MESSAGE' })
const INVALID: unknown = expect.objectContaining({ code: 'ERR_INVALID_OPTION' })
const UUID = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
const UUID_TEXT = '00112233-4455-6677-8899-aabbccddeeff'

/** One with every section. */
const FULL = rheaBytes({
  durable: true,
  priority: 7,
  ttl: 60_000,
  delivery_count: 3,
  delivery_annotations: { 'x-here': 1 },
  message_annotations: {
    'x-opt-partition-key': 's',
    'x-opt-scheduled-enqueue-time': new Date(1_000),
    'x-opt-sequence-number': 99,
    'x-opt-via-partition-key': 'v',
    'x-own': types.wrap_short(3),
  },
  message_id: 'm',
  user_id: Buffer.from('u'),
  to: 't',
  subject: 'l',
  reply_to: 'r',
  correlation_id: 'c',
  content_type: 'application/json',
  content_encoding: 'gzip',
  absolute_expiry_time: new Date(5),
  creation_time: new Date(4),
  group_id: 's',
  group_sequence: 9,
  reply_to_group_id: 'rs',
  application_properties: { n: types.wrap_int(-5), text: 'é' },
  footer: { 'x-sum': 1 },
  body: amqp.data_section(Buffer.from('{"a":1}')),
})

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

/** The bytes of a body section that says nothing. */
const BODY = hex('00 5375 a000')

function withProperties(application_properties: object): Buffer {
  return rheaBytes({ application_properties, body: amqp.data_section(Buffer.alloc(0)) })
}

describe('application properties', () => {
  test.each<[string, unknown, unknown]>([
    ['ubyte', types.wrap_ubyte(255), { ubyte: 255 }],
    ['ushort', types.wrap_ushort(65_535), { ushort: 65_535 }],
    ['uint', types.wrap_uint(4_294_967_295), { uint: 4_294_967_295 }],
    ['uint 0', types.wrap_uint(0), { uint: 0 }],
    ['small uint', types.wrap_uint(200), { uint: 200 }],
    ['ulong', types.wrap_ulong(2 ** 40), { uint64: 2 ** 40 }],
    ['small ulong', types.wrap_ulong(200), { uint64: 200 }],
    ['large ulong', types.wrap_ulong(hex('0020000000000001')), { ulong: '9007199254740993' }],
    ['largest ulong', types.wrap_ulong(hex('ffffffffffffffff')), { ulong: '18446744073709551615' }],
    ['byte', types.wrap_byte(-128), { byte: -128 }],
    ['short', types.wrap_short(-32_768), { short: -32_768 }],
    ['int', types.wrap_int(-2_147_483_648), -2_147_483_648],
    ['small int', types.wrap_int(-5), -5],
    ['long', types.wrap_long(-(2 ** 40)), { int64: -(2 ** 40) }],
    ['small long', types.wrap_long(-5), { int64: -5 }],
    ['smallest long', types.wrap_long(hex('8000000000000000')), { long: '-9223372036854775808' }],
    ['float', types.wrap_float(0.5), { float: 0.5 }],
    ['double', types.wrap_double(0.1), 0.1],
    ['whole double', types.wrap_double(5), { float64: 5 }],
    ['negative zero', types.wrap_double(-0), { double: '-0' }],
    ['infinity', types.wrap_double(-Infinity), { double: '-Infinity' }],
    ['not a number', types.wrap_float(Number.NaN), { double: 'NaN' }],
    ['true', true, true],
    ['false', types.wrap_boolean(false), false],
    ['text', 'é\u{1F30A}', 'é\u{1F30A}'],
    ['long text', 'x'.repeat(300), 'x'.repeat(300)],
    ['symbol', types.wrap_symbol('sym'), { symbol: 'sym' }],
    ['character', types.wrap_char(0x1f30a), { char: '\u{1F30A}' }],
    ['timestamp', new Date(-1), { date: -1 }],
    ['distant time', types.wrap_timestamp(9e15), { timestamp: '9000000000000000' }],
    ['uuid', types.wrap_uuid(UUID), { uuid: UUID_TEXT }],
    ['bytes', Buffer.from([1, 2, 255]), { bytes: 'AQL/' }],
    ['many bytes', Buffer.alloc(300), { bytes: Buffer.alloc(300).toString('base64') }],
    ['null', null, null],
  ])('SET-17 the meaning of a %s is seen', (_, value, seen) => {
    const bytes = withProperties({ before: 'b', value, after: 'a' })
    expect(headIn(decoded(bytes)).properties).toEqual({ before: 'b', value: seen, after: 'a' })
  })

  test.each([
    ['a boolean of one byte', '5601', true],
    ['decimal32', '74 01020304', { decimal32: '01020304' }],
    ['decimal64', '84 0102030405060708', { decimal64: '0102030405060708' }],
    [
      'decimal128',
      '94 01020304050607080102030405060708',
      { decimal128: '01020304050607080102030405060708' },
    ],
  ])('SET-17 so is %s, which rhea does not write', (_, value, seen) => {
    const entry = Buffer.concat([hex('a10161'), hex(value)])
    const map = Buffer.concat([hex('00 5374 c1'), Buffer.from([entry.length + 1, 2]), entry])
    const message = decoded(Buffer.concat([map, BODY]))
    expect(headIn(message).properties).toEqual({ a: seen })
  })

  test('a name may be any text', () => {
    const names = ['__proto__', 'constructor', '', 'two words', 'é']
    const properties = Object.fromEntries(names.map((name) => [name, name]))
    expect(headIn(decoded(withProperties(properties))).properties).toEqual(properties)
  })

  test('1,000 are taken, and no more', () => {
    const many = (count: number): Buffer =>
      withProperties(Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n])))
    expect(Object.keys(headIn(decoded(many(1_000))).properties ?? {})).toHaveLength(1_000)
    expect(() => decoded(many(1_001))).toThrow(/applicationProperties.*1000/)
    expect(() => decoded(many(1_001))).toThrow(INVALID)
  })

  test.each<[string, unknown]>([
    ['list', [1]],
    ['map', { a: 1 }],
    ['array', types.wrap_array([1], 0x71, undefined)],
    ['described list', types.wrap_described([1], 'x')],
    ['character that does not exist', types.wrap_char(0x11_0000)],
    ['half of a surrogate pair', types.wrap_char(0xd800)],
  ])('a %s is refused', (_, value) => {
    expect(() => decoded(withProperties({ value }))).toThrow(MALFORMED)
  })

  test('a text that is not UTF-8 is refused, but not the character that stands for such', () => {
    const text = (bytes: string): Buffer =>
      Buffer.concat([hex(`00 5374 c1 08 02 a10161 ${bytes}`), BODY])
    expect(() => decoded(text('a1 02 c3c3'))).toThrow(MALFORMED)
    expect(headIn(decoded(withProperties({ a: '\uFFFD' }))).properties).toEqual({ a: '\uFFFD' })
  })
})

describe('properties', () => {
  test('SET-17 all of them are seen', () => {
    const message = decoded(FULL)
    expect(headIn(message)).toMatchObject({
      messageId: 'm',
      contentType: 'application/json',
      correlationId: 'c',
      partitionKey: 's',
      sessionId: 's',
      replyToSessionId: 'rs',
      subject: 'l',
      to: 't',
      replyTo: 'r',
      properties: { n: -5, text: 'é' },
    })
    expect(message).toMatchObject({ messageId: 'm', session: 's', bytes: FULL.length, copies: [] })
  })

  test.each<[string, unknown, string]>([
    ['text', 'm', 'm'],
    ['ulong', 7, '7'],
    ['large ulong', types.wrap_ulong(hex('ffffffffffffffff')), '18446744073709551615'],
    ['uuid', UUID, UUID_TEXT],
    ['binary', types.wrap_binary(Buffer.from([1, 2, 255])), 'AQL/'],
  ])('SET-17 an id may be a %s', (_, id, text) => {
    const message = decoded(rheaBytes({ message_id: id, correlation_id: id, body: 1 }))
    expect(message.messageId).toBe(text)
    expect(headIn(message)).toMatchObject({ messageId: text, correlationId: text })
  })

  test('SET-17 a message without an id gets one', () => {
    for (const bytes of [BODY, rheaBytes({ body: 1 }), rheaBytes({ subject: 'x', body: 1 })]) {
      const message = decoded(bytes)
      expect(message.messageId).toMatch(/^[0-9a-f]{32}$/)
      expect(headIn(message).messageId).toBe(message.messageId)
    }
  })

  test.each<[string, object]>([
    ['messageId', { message_id: 'x'.repeat(129) }],
    ['messageId', { message_id: 'a\0' }],
    ['sessionId', { group_id: 'x'.repeat(129) }],
    ['sessionId', { group_id: '' }],
    ['replyToSessionId', { reply_to_group_id: 'x'.repeat(129) }],
    ['partitionKey', { message_annotations: { 'x-opt-partition-key': 'x'.repeat(129) } }],
    ['partitionKey', { message_annotations: { 'x-opt-partition-key': 5 } }],
    ['partitionKey', { group_id: 'a', message_annotations: { 'x-opt-partition-key': 'b' } }],
    ['scheduledEnqueueTimeUtc', { message_annotations: { 'x-opt-scheduled-enqueue-time': 5 } }],
  ])('refuses a bad %s', (name, given) => {
    const bytes = rheaBytes({ ...given, body: 1 })
    expect(() => decoded(bytes)).toThrow(INVALID)
    expect(() => decoded(bytes)).toThrow(name)
  })

  test.each([
    ['a subject that is a number', '00 5373 c0 05 04 40404041'],
    ['an id that is a boolean', '00 5373 c0 02 01 41'],
    ['more fields than there are', `00 5373 c0 0f 0e ${'40'.repeat(14)}`],
    ['a TTL that is negative', '00 5370 c0 05 03 4040 54ff'],
    ['a TTL that is a text', '00 5370 c0 06 03 4040 a10161'],
    ['a priority above 255', '00 5370 c0 07 02 40 7000000100'],
    ['durable as a text', '00 5370 c0 04 01 a10161'],
    ['a property whose name is a number', '00 5374 c1 03 02 4340'],
  ])('%s is malformed', (_, section) => {
    expect(() => decoded(Buffer.concat([hex(section), BODY]))).toThrow(MALFORMED)
  })
})

describe('header and annotations', () => {
  test('1,000 annotations are taken, and no more', () => {
    const many = (count: number) =>
      rheaBytes({
        message_annotations: Object.fromEntries(
          Array.from({ length: count }, (_, n) => [`x${n}`, n]),
        ),
        body: amqp.data_section(Buffer.from('1')),
      })
    expect(headIn(decoded(many(1_000))).extra).toBeDefined()
    expect(() => decoded(many(1_001))).toThrow(INVALID)
  })

  test.each([
    [undefined, undefined],
    [0, undefined],
    [1, 1],
    [250, 250],
    [4_294_967_295, 4_294_967_295],
  ])('EXP-19 a TTL of %s is %s', (ttl, ttlMs) => {
    const absolute_expiry_time = new Date(5)
    expect(decoded(rheaBytes({ ttl, absolute_expiry_time, body: 1 })).ttlMs).toBe(ttlMs)
  })

  test('SCH-03 the scheduled time is that of the annotation', () => {
    expect(decoded(FULL).scheduledMs).toBe(1_000)
    expect(decoded(BODY).scheduledMs).toBeUndefined()
  })

  test('what only clients understand is kept, and what the broker says is not', () => {
    const { extra } = headIn(decoded(FULL))
    expect(extra).toMatchObject({ durable: true, priority: 7 })
    const { annotations } = extra as { annotations: string }
    const text = Buffer.from(annotations, 'base64').toString('latin1')
    expect(text).toContain('x-opt-via-partition-key')
    expect(text).toContain('x-own')
    for (const name of ['x-opt-partition-key', 'x-opt-sequence-number', 'x-here']) {
      expect(text).not.toContain(name)
    }
    expect(headIn(decoded(BODY)).extra).toBeUndefined()
  })
})

describe('bodies', () => {
  const value = (content: unknown): object => ({ body: content })
  const data = Buffer.from('{"a":1}')

  test.each<[string, object, string]>([
    ['data', { body: amqp.data_section(data) }, 'data'],
    ['much data', { body: amqp.data_section(Buffer.alloc(70_000, 'x')) }, 'data'],
    ['no data', { body: amqp.data_section(Buffer.alloc(0)) }, 'data'],
    ['several data', { body: amqp.data_sections([data, data]) }, 'amqp'],
    ['a sequence', { body: amqp.sequence_section([1, 'x', { a: [true] }]) }, 'amqp'],
    ['several sequences', { body: amqp.sequence_sections([[1], [2]]) }, 'amqp'],
    ['a text', value('é'), 'amqp'],
    ['null', value(null), 'amqp'],
    ['a map', value({ a: { b: [1, null, new Date(5)] } }), 'amqp'],
    ['bytes as a value', value(Buffer.from([1])), 'amqp'],
    ['a long', value(types.wrap_long(hex('8000000000000000'))), 'amqp'],
    ['an array', value(types.wrap_array([1, 2], 0x71, undefined)), 'amqp'],
  ])('SET-17 %s is kept byte for byte', (_, content, bodyKind) => {
    const bytes = rheaBytes({
      ttl: 5,
      message_id: 'm',
      application_properties: { p: 1 },
      ...content,
    })
    const message = decoded(bytes)
    const { body } = message
    expect(headIn(message).bodyKind).toBe(bodyKind)
    expect(bytes.includes(Buffer.from(body))).toBe(true)
    expect(Buffer.from(body).subarray(0, 3)).toEqual(hex('00 5373'))
    expect(Buffer.from(body).equals(bytes.subarray(-body.length))).toBe(true)
    const { body: shown } = rheaMessage(encodeDelivery(storedMessage(message), undefined))
    expect(shown).toEqual(rheaMessage(bytes).body)
  })

  test('SET-17 a footer stands behind the body, and its keys are symbols', () => {
    const content = { body: amqp.data_section(Buffer.from('ab')), footer: { sum: 1 } }
    const message = decoded(rheaBytes(content))
    const [start = 0, end] = headIn(message).bodyAt ?? []
    expect(Buffer.from(message.body).toString('latin1', start, end)).toBe('ab')
    const footer = '005378 d1 0000000b 00000002 a303 73756d 5201'.replaceAll(' ', '')
    expect(Buffer.from(message.body).subarray(end).toString('hex')).toBe(footer)
  })

  test('sections in any order are put into theirs', () => {
    const [properties, custom, data] = [
      '005373 c00401 a1016d',
      '005374 c10602 a10170 5401',
      '005375 a00161',
    ].map(hex)
    const message = decoded(Buffer.concat([data!, custom!, properties!]))
    expect(Buffer.from(message.body)).toEqual(Buffer.concat([properties!, custom!, data!]))
    expect(headIn(message)).toMatchObject({
      messageId: 'm',
      properties: { p: 1 },
      bodyKind: 'data',
    })
    const [start, end] = headIn(message).bodyAt ?? []
    expect(Buffer.from(message.body).toString('latin1', start, end)).toBe('a')
  })

  test('the place of the body is that of its content', () => {
    const place = (bytes: Buffer): Buffer => {
      const message = decoded(bytes)
      const [start, end] = headIn(message).bodyAt ?? [0, 0]
      return Buffer.from(message.body.subarray(start, end))
    }
    expect(place(FULL)).toEqual(data)
    expect(place(rheaBytes({ message_id: 'm', body: 'x', footer: { a: 1 } }))).toEqual(
      hex('00 5377 a10178'),
    )
    expect(place(rheaBytes({ body: amqp.data_section(Buffer.alloc(300, 'x')) }))).toHaveLength(300)
    expect(place(hex('00 5373 45'))).toHaveLength(0)
    expect(place(hex('00 5373 45 00 5378 c10100'))).toHaveLength(0)
  })

  test('a message may have no body', () => {
    expect(headIn(decoded(hex('00 5373 45')))).toMatchObject({ bodyKind: 'amqp' })
  })

  test('a stored body has memory of its own, without the bytes around it', () => {
    const { body } = decoded(FULL)
    expect(body.buffer.byteLength).toBe(body.byteLength)
    expect(body.buffer).not.toBe(FULL.buffer)
  })

  test('sections may be named by symbols, or by long numbers', () => {
    const named = (name: string): Buffer =>
      Buffer.concat([hex('00 a3'), Buffer.from([name.length]), Buffer.from(name)])
    const message = decoded(
      Buffer.concat([
        named('amqp:properties:list'),
        hex('c0 04 01 a1016d'),
        hex('00 800000000000000074 c10100'),
        named('amqp:data:binary'),
        hex('a001 31'),
      ]),
    )
    expect(headIn(message)).toMatchObject({ messageId: 'm', bodyKind: 'data' })
    const delivered = rheaMessage(encodeDelivery(storedMessage(message), undefined))
    expect(delivered.message_id).toBe('m')
  })
})

describe('what is malformed', () => {
  test.each([
    ['nothing', ''],
    ['a value that is no section', '41'],
    ['a section that does not exist', '00 5379 45'],
    ['a described value that is no section', '00 a30161 45'],
    ['a performative', '00 5314 45'],
    ['two headers', '00 5370 45 00 5370 45 00 5375 a000'],
    ['two footers', '00 5378 c10100 00 5375 a000 00 5378 c10100'],
    ['a body in two pieces', '00 5375 a000 00 5378 c10100 00 5375 a000'],
    ['a body of two kinds', '00 5375 a000 00 5376 45'],
    ['two values', '00 5377 40 00 5377 40'],
    ['a header that is a map', '00 5370 c10100 00 5375 a000'],
    ['properties that are null', '00 5373 40 00 5375 a000'],
    ['application properties that are a list', '00 5374 45 00 5375 a000'],
    ['annotations that are a list', '00 5372 45 00 5375 a000'],
    ['data that is a text', '00 5375 a100'],
    ['a sequence that is a map', '00 5376 c10100'],
  ])('%s', (_, bytes) => {
    expect(() => decoded(hex(bytes))).toThrow(MALFORMED)
  })

  test('a message that is cut off, but not between two sections', () => {
    const ends = new Set([...FULL.keys()].filter((at) => FULL[at] === 0 && FULL[at + 1] === 0x53))
    for (let end = 0; end < FULL.length; end++) {
      if (end > 0 && ends.has(end)) decoded(FULL.subarray(0, end))
      else expect(() => decoded(FULL.subarray(0, end)), `at ${end}`).toThrow(MALFORMED)
    }
    expect(ends.size).toBe(7)
  })

  test('an unknown message format', () => {
    expect(() => decodeTransfer({ format: 5, bytes: FULL }, systemRandom)).toThrow(MALFORMED)
  })

  test('whatever is changed in a message, it is refused, or can be delivered', () => {
    const changes = fc.array(fc.tuple(fc.nat(FULL.length - 1), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    })
    let delivered = 0
    fc.assert(
      fc.property(changes, (changed) => {
        const bytes = Buffer.from(FULL)
        for (const [at, byte] of changed) bytes[at] = byte
        let message
        try {
          message = decoded(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(CodedError)
          return
        }
        delivered += 1
        expect(rheaMessage(encodeDelivery(storedMessage(message), undefined)).delivery_count).toBe(
          0,
        )
      }),
      { numRuns: 2_000 },
    )
    expect(delivered).toBeGreaterThan(200)
  })
})

describe('batches', () => {
  const inner = [
    rheaBytes({ message_id: 'a', ttl: 800, body: amqp.data_section(Buffer.from('1')) }),
    rheaBytes({ message_id: 'b', body: 'x'.repeat(300) }),
    FULL,
  ]

  function envelope(messages: readonly Buffer[]): Buffer {
    return rheaBytes({
      ttl: 5,
      message_id: 'envelope',
      group_id: 'envelope',
      application_properties: { of: 'envelope' },
      message_annotations: { 'x-opt-scheduled-enqueue-time': new Date(9) },
      body: amqp.data_sections([...messages]),
    })
  }

  test('EXP-24 each message of a batch is one of its own, and the envelope is none', () => {
    const messages = batchOf(envelope(inner))
    expect(messages.map(({ messageId }) => messageId)).toEqual(['a', 'b', 'm'])
    expect(messages.map(({ ttlMs }) => ttlMs)).toEqual([800, undefined, 60_000])
    expect(messages.map(({ session }) => session)).toEqual([undefined, undefined, 's'])
    expect(messages.map(({ scheduledMs }) => scheduledMs)).toEqual([undefined, undefined, 1_000])
    expect(messages.map(({ bytes }) => bytes)).toEqual(inner.map(({ length }) => length))
    expect(messages.map(({ body }) => body)).toEqual(inner.map((bytes) => decoded(bytes).body))
  })

  test('SET-17 two messages of a batch do not get the same id', () => {
    const [one, other] = batchOf(envelope([BODY, BODY]))
    expect(one!.messageId).not.toBe(other!.messageId)
  })

  test.each([
    ['without messages', rheaBytes({ body: amqp.data_sections([]) })],
    ['whose body is a value', rheaBytes({ body: 'x' })],
    ['with an empty message', envelope([inner[0]!, Buffer.alloc(0)])],
    ['with a message that is cut off', envelope([inner[0]!, inner[1]!.subarray(0, -1)])],
    ['that is cut off', envelope(inner).subarray(0, -1)],
    ['of nothing', Buffer.alloc(0)],
  ])('a batch %s is refused', (_, bytes) => {
    expect(() => batchOf(bytes)).toThrow(MALFORMED)
  })

  test('a batch has a limit', () => {
    const many = (count: number): Buffer =>
      Buffer.concat(Array.from({ length: count }, () => hex('00 5375 a005 00 5375 a000')))
    expect(batchOf(many(20_000))).toHaveLength(20_000)
    expect(() => batchOf(many(20_001))).toThrow(INVALID)
  })
})
