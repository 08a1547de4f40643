import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Clock, DeadLetter } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { contextOf, entryOf, stage, type Order } from '../sync.fixture.ts'
import { verifyWebhook, type WebhookBody, type WebhookSecret } from './webhook-signature.ts'
import { webhookSink, type WebhookSinkOptions } from './webhook-sink.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`

interface Received {
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly body: WebhookBody<Order>
}

type Behaviour = (request: Received, response: ServerResponse) => void

/** A receiver on a free port. `behave` is what it does with the next requests, 204 when there is none left. */
interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
  readonly behave: Behaviour[]
}

async function receiver(secret: WebhookSecret = SECRET): Promise<Receiver> {
  const received: Received[] = []
  const behave: Behaviour[] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      const body = verifyWebhook<Order>({ secret, headers: request.headers, body: text })
      const one = { headers: request.headers, text, body }
      received.push(one)
      const next = behave.shift()
      if (next === undefined) response.writeHead(204).end()
      else next(one, response)
    })
    request.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    behave,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const status =
  (code: number, headers: Record<string, string> = {}): Behaviour =>
  (_, response) =>
    response.writeHead(code, headers).end('a text that nobody reads')

let hook: Receiver
beforeEach(async () => {
  hook = await receiver()
})
afterEach(() => hook[Symbol.asyncDispose]())

const sinkTo = (options: Partial<WebhookSinkOptions> = {}) =>
  webhookSink<Order>({ url: hook.url, secret: SECRET, ...options })
const put = (id: string, total = 1) => entryOf(id, { lsn: 1, total })

describe('JB-6 a webhook', () => {
  test('gets signed changes in order per key, with a key that is the same when they come again', async () => {
    await using on = await stage()
    for (let n = 0; n < 12; n += 1) {
      await on.orders.upsert({ id: `o${n % 4}`, customer: 'c', total: n })
    }
    await on.sync({ sink: sinkTo() })
    await on.sync({ sink: sinkTo(), group: 'again' })
    const keys = hook.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(8)
    expect(keys.slice(4)).toEqual(keys.slice(0, 4))
    expect(new Set(keys).size).toBe(4)
    for (const { headers, body } of hook.received) {
      expect(body).toMatchObject({ source: 'shop/orders', entries: [{ operation: 'put' }] })
      expect(headers['webhook-id']).toBe(body.entries[0]!.key)
      expect(headers['content-type']).toBe('application/json')
    }
    const totals = hook.received.map(({ body }) => body.entries[0]!.document!.total)
    expect(totals.slice(0, 4)).toEqual([8, 9, 10, 11])
  })

  test('is waited for when it says 503, 429 or 401, sends away, hangs or breaks off; nothing is lost or given up', async () => {
    await using on = await stage()
    const refusedMs: number[] = []
    hook.behave.push(
      status(503),
      status(401),
      status(302, { location: hook.url }),
      (_, response) => void response.socket?.resetAndDestroy(),
      () => {},
      (one, response) => {
        refusedMs.push(performance.now())
        status(429, { 'retry-after': '1' })(one, response)
      },
      (one, response) => {
        refusedMs.push(performance.now())
        status(204)(one, response)
      },
    )
    for (let n = 0; n < 3; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: 'c', total: n })
    }
    const letters: DeadLetter<Order>[] = []
    await on.sync({
      sink: sinkTo({ timeoutMs: 200 }),
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } },
      random: { fraction: () => 0, hex: (digits) => '0'.repeat(digits) },
    })
    expect(letters).toEqual([])
    const ids = hook.received.map(({ body }) => body.entries[0]!.id)
    // What was taken is not sent again.
    expect(ids).toEqual([...Array<string>(6).fill('o0'), 'o0', 'o1', 'o2'])
    expect(refusedMs[1]! - refusedMs[0]!).toBeGreaterThanOrEqual(990)
    const failures = on.events.filter((event) => event.kind === 'failure' && event.what === 'sink')
    expect(failures).toHaveLength(6)
  }, 30_000)

  test('that refuses a change gets it no more often than its attempts, and all others once', async () => {
    await using on = await stage()
    for (let n = 0; n < 20; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: 'c', total: n })
    }
    hook.behave.push(
      ...Array.from(
        { length: 40 },
        (): Behaviour => (one, response) =>
          status(one.body.entries[0]!.id === 'o13' ? 422 : 200)(one, response),
      ),
    )
    const letters: DeadLetter<Order>[] = []
    await on.sync({
      sink: sinkTo(),
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 }, retryDelayMs: 1 },
    })
    expect(letters).toMatchObject([{ change: { id: 'o13' }, error: { code: 'ERR_SINK_REFUSED' } }])
    const counts = new Map<string, number>()
    for (const { body } of hook.received) {
      const { id } = body.entries[0]!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    counts.delete('o13')
    expect(counts).toEqual(new Map([...counts.keys()].map((id) => [id, 1])))
    expect(counts.size).toBe(19)
  })

  test.each([400, 409, 413, 415, 422])('answers %i about what was sent', async (code) => {
    hook.behave.push(status(code))
    await expect(sinkTo().write([put('a')], contextOf())).rejects.toMatchObject({
      code: 'ERR_SINK_REFUSED',
      message: expect.stringContaining(
        `"a" of ["c"] at LSN 1 was refused: the webhook answered ${code}`,
      ),
    })
  })

  test('says until when it wants to be left alone, in seconds or as a date', async () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString()
    for (const value of ['60', inAMinute]) {
      hook.behave.push(status(429, { 'retry-after': value }))
      const error: unknown = await sinkTo()
        .write([put('a')], contextOf())
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'ERR_SINK_UNAVAILABLE' })
      const { retryAfterMs } = error as { retryAfterMs: number }
      expect(retryAfterMs).toBeGreaterThan(50_000)
      expect(retryAfterMs).toBeLessThanOrEqual(60_000)
    }
    hook.behave.push(status(429, { 'retry-after': 'soon' }))
    await expect(sinkTo().write([put('a')], contextOf())).rejects.toMatchObject({
      retryAfterMs: undefined,
    })
  })

  test('gets several entries in one request, never above the bounds', async () => {
    const entries = Array.from({ length: 25 }, (_, n) => put(`o${n}`, n))
    await sinkTo({ maxEntries: 10 }).write(entries, contextOf())
    expect(hook.received.map(({ body }) => body.entries.length)).toEqual([10, 10, 5])
    hook.received.length = 0
    await sinkTo({ maxEntries: 100, maxBodyBytes: 1_500 }).write(entries, contextOf())
    const sizes = hook.received.map(({ text }) => Buffer.byteLength(text))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_500)
    expect(hook.received.flatMap(({ body }) => body.entries.map(({ id }) => id))).toEqual(
      entries.map(({ id }) => id),
    )
    const small = sinkTo({ maxBodyBytes: 100 })
    await expect(small.write([put('large')], contextOf())).rejects.toMatchObject({
      code: 'ERR_SINK_REFUSED',
    })
  })

  test('is not followed to another place, which then learns nothing', async () => {
    await using other = await receiver()
    hook.behave.push(status(307, { location: other.url }))
    await expect(sinkTo().write([put('a')], contextOf())).rejects.toMatchObject({
      code: 'ERR_SINK_UNAVAILABLE',
      message: 'the webhook answered 307',
    })
    expect(other.received).toEqual([])
  })

  test('gets everything again when the feed is read again', async () => {
    const sink = sinkTo()
    for (let times = 0; times < 2; times += 1) await sink.write([put('a'), put('b')], contextOf())
    expect(hook.received.map(({ body }) => body.entries[0]?.id)).toEqual(['a', 'b', 'a', 'b'])
  })

  test('gets the headers of the program, and none of the sink twice', async () => {
    const headers = {
      Authorization: 'Bearer x',
      'Content-Type': 'text/plain',
      'Webhook-Id': 'mine',
    }
    await sinkTo({ headers }).write([put('a')], contextOf())
    expect(hook.received[0]?.headers).toMatchObject({
      authorization: 'Bearer x',
      'content-type': 'application/json',
      'webhook-id': hook.received[0]?.body.entries[0]?.key,
    })
  })

  test('is let go when the worker must stop', async () => {
    const stopped = new AbortController()
    hook.behave.push(() => stopped.abort(new Error('stopped')))
    const context = { ...contextOf(), signal: stopped.signal }
    await expect(sinkTo().write([put('a')], context)).rejects.toThrow('stopped')
  })

  test('options that cannot be right are refused, without the secret', () => {
    const refused: Partial<WebhookSinkOptions>[] = [
      { url: 'ftp://example.org' },
      { url: 'hook' },
      { secret: 'short-secret' },
      { secret: [] },
      { maxEntries: 0 },
      { timeoutMs: -1 },
      { timeoutMs: 2 ** 31 },
      { url: 'https://user:short-secret@example.org' },
      { headers: { authorization: 'Bearer short-secret\r\nx: y' } },
      { headers: { 'not a name': 'x' } },
      { headers: { authorization: undefined as never } },
    ]
    for (const options of refused) {
      expect(() => sinkTo(options)).toThrow(
        expect.objectContaining({
          code: 'ERR_INVALID_OPTION',
          message: expect.not.stringContaining('short-secret'),
        }),
      )
    }
  })
})

describe('JB-6 the signature of a webhook', () => {
  const clockAt = (ms: number): Clock =>
    Object.assign(new SimulatedClock(), { wallMs: () => ms }) as Clock
  const signed = async (options: Partial<WebhookSinkOptions> = {}): Promise<Received> => {
    await sinkTo(options).write([put('a')], contextOf())
    return hook.received.at(-1)!
  }
  const refused = expect.objectContaining({ code: 'ERR_WEBHOOK_SIGNATURE' })

  test('is that of Standard Webhooks', async () => {
    // Their own example: secret, id, timestamp, body and signature.
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const clock = clockAt(1_614_265_330_000)
    // It is accepted, and then is no body of ours.
    const body = '{"test": 2432232314}'
    expect(() => verifyWebhook({ secret, headers, body, clock })).toThrow(/not that of a webhook/)
    expect(() => verifyWebhook({ secret, headers, body: `${body} `, clock })).toThrow(
      /no signature/,
    )
  })

  test('changes with every part of the request', async () => {
    const { headers, text } = await signed()
    expect(verifyWebhook({ secret: SECRET, headers, body: Buffer.from(text) })).toMatchObject({
      entries: [{ id: 'a' }],
    })
    const plain = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    )
    expect(
      verifyWebhook({ secret: SECRET, headers: new Headers(plain), body: text }).entries,
    ).toHaveLength(1)
    const altered = fc.constantFrom('webhook-id', 'webhook-timestamp', 'webhook-signature', 'body')
    fc.assert(
      fc.property(altered, fc.nat(), fc.constantFrom('', '0', 'x'), (part, at, put) => {
        const whole = part === 'body' ? text : plain[part]!
        const index = at % whole.length
        const changed = whole.slice(0, index) + put + whole.slice(index + 1)
        fc.pre(changed !== whole)
        const given = part === 'body' ? plain : { ...plain, [part]: changed }
        const body = part === 'body' ? changed : text
        expect(() => verifyWebhook({ secret: SECRET, headers: given, body })).toThrow(refused)
      }),
      { seed: 19 },
    )
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const { [name]: _, ...rest } = plain
      expect(() => verifyWebhook({ secret: SECRET, headers: rest, body: text })).toThrow(refused)
    }
  })

  test('is of one secret, or of both while one follows the other', async () => {
    const { headers, text: body } = await signed()
    expect(() => verifyWebhook({ secret: OTHER, headers, body })).toThrow(refused)
    expect(verifyWebhook({ secret: [OTHER, SECRET], headers, body }).entries).toHaveLength(1)
    const both = await signed({ secret: [OTHER, SECRET] })
    for (const secret of [OTHER, SECRET]) {
      const { headers: signatures, text } = both
      expect(verifyWebhook({ secret, headers: signatures, body: text }).entries).toHaveLength(1)
    }
  })

  test('ends: a request that is kept and sent again later is refused', async () => {
    const { headers, text: body } = await signed()
    const atMs = Number(headers['webhook-timestamp']) * 1_000
    const at = (ms: number) => () =>
      verifyWebhook({ secret: SECRET, headers, body, clock: clockAt(atMs + ms) })
    expect(at(299_000)().entries).toHaveLength(1)
    expect(at(-299_000)().entries).toHaveLength(1)
    expect(at(301_000)).toThrow(refused)
    expect(at(-301_000)).toThrow(refused)
  })
})
