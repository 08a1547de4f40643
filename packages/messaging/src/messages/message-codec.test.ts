import { ACTIVE, DEFERRED, SCHEDULED, type StoredMessage } from '@tidemark/store/messages'
import { systemRandom } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import type { Message, ReceivedMessage } from './message.ts'
import { decodeMessage, encodeMessage } from './message-codec.ts'

const CONTEXT = { random: systemRandom }

const NOW_MS = Date.UTC(2026, 0, 1)

function stored(message: Message, given: Partial<StoredMessage> = {}): StoredMessage {
  const { head, body, bytes, session, ttlMs } = encodeMessage(message, CONTEXT)
  return {
    id: 1,
    entity: 1,
    number: 1,
    state: ACTIVE,
    session,
    enqueuedMs: NOW_MS,
    ttlMs,
    expiresMs: ttlMs === undefined ? undefined : NOW_MS + ttlMs,
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    firstNumber: 1,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes,
    head,
    body,
    ...given,
  }
}

function passed(message: Message, given?: Partial<StoredMessage>): ReceivedMessage {
  return decodeMessage(stored(message, given), undefined)
}

describe('bodies', () => {
  test.each([[{ a: [1, 'x', null] }], ['text'], [''], [0], [null], [false], [[]], ['\u{1F30A}']])(
    'SET-17 %j comes back as it was',
    (body) => {
      expect(passed({ body }).body).toEqual(body)
    },
  )

  test('SET-17 bytes come back as plain bytes, also if the sender changes its own afterwards', () => {
    const body = Buffer.from([0, 255, 128])
    const encoded = stored({ body })
    body[0] = 7
    const received = decodeMessage(encoded, undefined).body
    expect(received).toEqual(new Uint8Array([0, 255, 128]))
    expect(Buffer.isBuffer(received)).toBe(false)
    expect(passed({ body: new Uint8Array() }).body).toEqual(new Uint8Array())
  })

  test('no body is no body', () => {
    expect(passed({ body: undefined }).body).toBeUndefined()
  })

  test('refuses what JSON cannot say', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    for (const body of [cyclic, { n: 1n }, () => 1, Symbol('x')]) {
      const error = { code: 'ERR_INVALID_OPTION' }
      expect(() => stored({ body })).toThrow(expect.objectContaining(error))
    }
  })

  test.each([
    ['data', '{"a":1}', { a: 1 }],
    ['data', 'null', null],
    ['data', 'text', new TextEncoder().encode('text')],
    ['data', '', new Uint8Array()],
    ['amqp', '{"a":1}', new TextEncoder().encode('{"a":1}')],
  ])('SET-17 a body of kind %s that was sent over AMQP is shown: %s', (bodyKind, text, body) => {
    const message = stored({ body: 'x' })
    const bodyAt = [3, 3 + text.length]
    const head = JSON.stringify({ ...JSON.parse(message.head), bodyKind, bodyAt })
    const received = decodeMessage(
      { ...message, head, body: Buffer.from(`...${text}.`) },
      undefined,
    )
    expect(received.body).toEqual(body)
    expect(Buffer.isBuffer(received.body)).toBe(false)
  })

  test('a place of the body outside of the stored bytes is damage', () => {
    const message = stored({ body: 'x' })
    for (const bodyAt of [
      [0, 1e6],
      [2, 1],
      [-5, 0],
    ]) {
      const head = JSON.stringify({ ...JSON.parse(message.head), bodyKind: 'amqp', bodyAt })
      expect(() => decodeMessage({ ...message, head }, undefined)).toThrow(
        expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }),
      )
    }
  })
})

describe('properties', () => {
  const full: Message = {
    body: 1,
    messageId: 'm',
    contentType: 'c',
    correlationId: 'r',
    partitionKey: 's',
    sessionId: 's',
    replyToSessionId: 'rs',
    timeToLive: 60_000,
    subject: 'l',
    to: 't',
    replyTo: 'rt',
    applicationProperties: { n: 1, big: 2n ** 60n, at: new Date(5), none: null, __proto__x: true },
  }

  test('SET-17 all of them come back', () => {
    expect(passed(full)).toMatchObject(full)
  })

  test('SET-17 a message without messageId gets one', () => {
    const { messageId } = passed({ body: 1 })
    expect(messageId).toMatch(/^[0-9a-f]{32}$/)
  })

  test('EXP-01 EXP-12 times are the effective ones', () => {
    expect(passed({ body: 1 }, { ttlMs: 2000, expiresMs: NOW_MS + 2000 })).toMatchObject({
      timeToLive: 2000,
      enqueuedTimeUtc: new Date(NOW_MS),
      expiresAtUtc: new Date(NOW_MS + 2000),
    })
    for (const timeToLive of [undefined, Infinity, Number.MAX_SAFE_INTEGER]) {
      const received = passed({ body: 1, timeToLive })
      expect(received.timeToLive).toBeUndefined()
      expect(received.expiresAtUtc.getUTCFullYear()).toBe(9999)
    }
    expect(encodeMessage({ body: 1, timeToLive: 0.2 }, CONTEXT).ttlMs).toBe(1)
  })

  test('SET-02 SET-04 changes lie over what was sent', () => {
    const changes = JSON.stringify({
      properties: { n: 2, DeadLetterReason: 'r', DeadLetterErrorDescription: 'd' },
      removed: ['big'],
      system: { subject: 'changed', to: null },
    })
    const received = passed(full, { changes, deadLetterSource: 'q' })
    expect(received).toMatchObject({
      subject: 'changed',
      to: undefined,
      deadLetterReason: 'r',
      deadLetterErrorDescription: 'd',
      deadLetterSource: 'q',
    })
    expect(received.applicationProperties).toMatchObject({ n: 2, at: new Date(5) })
    expect(received.applicationProperties).not.toHaveProperty('big')
  })

  test.each([
    [ACTIVE, 'active'],
    [DEFERRED, 'deferred'],
    [SCHEDULED, 'scheduled'],
  ])('state %d is %s', (state, name) => {
    expect(passed({ body: 1 }, { state }).state).toBe(name)
  })

  test('its size counts the properties', () => {
    const small = encodeMessage({ body: 'x' }, CONTEXT)
    const large = encodeMessage({ body: 'x', subject: 'é'.repeat(50) }, CONTEXT)
    expect(large.bytes - small.bytes).toBeGreaterThanOrEqual(100)
  })

  test.each<[string, Record<string, unknown>]>([
    ['messageId', { messageId: 'x'.repeat(129) }],
    ['messageId', { messageId: 5 }],
    ['sessionId', { sessionId: 'x'.repeat(129) }],
    ['partitionKey', { partitionKey: 'x'.repeat(129) }],
    ['partitionKey', { sessionId: 'a', partitionKey: 'b' }],
    ['timeToLive', { timeToLive: 0 }],
    ['timeToLive', { timeToLive: -1 }],
    ['timeToLive', { timeToLive: Number.NaN }],
    ['timeToLive', { timeToLive: '1' }],
    ['scheduledEnqueueTimeUtc', { scheduledEnqueueTimeUtc: new Date(Number.NaN) }],
    ['scheduledEnqueueTimeUtc', { scheduledEnqueueTimeUtc: 5 }],
    ['applicationProperties', { applicationProperties: [] }],
    ['"p"', { applicationProperties: { p: { deep: 1 } } }],
    ['"p"', { applicationProperties: { p: undefined } }],
    ['label', { label: 'x' }],
  ])('refuses a bad %s', (name, given) => {
    const message: Message = { body: 1, ...given }
    expect(() => encodeMessage(message, CONTEXT)).toThrow(name)
  })

  test.each([undefined, null, 'x', 5])('refuses %s as a message', (message) => {
    expect(() => encodeMessage(message as never, CONTEXT)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
  })
})
