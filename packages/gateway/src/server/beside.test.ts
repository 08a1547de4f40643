import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { rawSocket, received, send, signedHeaders } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }

test('paths of Cosmos clients are never offered, others are, and "/" is for a browser', async () => {
  const offered: string[] = []
  await using started = await testGateway({
    beside: async ({ url }) => {
      offered.push(new URL(url).pathname)
      return new Response('beside')
    },
  })
  const { endpoint } = started.gateway
  const get = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(new URL(path, endpoint), { headers })).text()
  for (const path of ['dbs', 'dbs/db/colls/c/docs', 'offers/x', 'addresses/']) {
    expect(await get(path, BROWSER)).toContain('"code"')
  }
  expect(await get('')).toContain('"code"')
  expect(await get('', { ...BROWSER, ...signedHeaders('GET', '/') })).toContain('"tidemark"')
  expect(offered).toEqual([])
  expect(await get('', BROWSER)).toBe('beside')
  expect(await get('', { ...BROWSER, authorization: 'Basic eDp5' })).toBe('beside')
  for (const path of ['dbsx', 'livez', 'ui/']) expect(await get(path)).toBe('beside')
  expect(offered).toEqual(['/', '/', '/dbsx', '/livez', '/ui/'])
  expect(started.failures).toEqual([])
})

test('what is declined is answered as without it', async () => {
  await using without = await testGateway()
  await using started = await testGateway({ beside: async () => undefined })
  const answers = await Promise.all(
    [without, started].map(async ({ gateway }) => {
      const { status } = await send(gateway.endpoint, 'GET', '/nothing/here')
      const unsigned = await fetch(new URL('livez', gateway.endpoint))
      return [status, unsigned.status]
    }),
  )
  expect(answers[1]).toEqual(answers[0])
  expect(answers[1]).toEqual([404, 401])
})

test('method, address, headers and body arrive; status, headers and cookies of the answer, too', async () => {
  await using started = await testGateway({
    beside: async (got) => {
      const { method, url, headers } = got
      const body = JSON.stringify([method, url, headers.get('x-a'), await got.text()])
      const cookies = [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['content-type', 'x/y'],
      ]
      return new Response(body, { status: 418, headers: cookies as [string, string][] })
    },
  })
  const url = `${started.gateway.endpoint}a%20b/?q=%2F`
  const answer = await fetch(url, { method: 'PUT', headers: { 'x-a': 'ä' }, body: 'тело' })
  expect([
    answer.status,
    answer.headers.getSetCookie(),
    answer.headers.get('content-type'),
  ]).toEqual([418, ['a=1', 'b=2'], 'x/y'])
  expect(await answer.json()).toEqual(['PUT', url, 'ä', 'тело'])
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([418, ''])
})

test('a body above maxBodyBytes is 413, whether or not it says how long it is, and is not read on', async () => {
  await using started = await testGateway({
    maxBodyBytes: 2000,
    beside: async (got) => new Response(await got.text()),
  })
  const post = async (head: string, body: string): Promise<string> => {
    const socket = await rawSocket(started.gateway.port)
    socket.write(`POST /x HTTP/1.1\r\nhost: a\r\n${head}\r\n\r\n${body}`)
    return received(socket)
  }
  const kept = 'connection: close\r\ncontent-length: 2000'
  expect(await post(kept, 'a'.repeat(2000))).toMatch(/^HTTP\/1.1 200 /)
  expect(await post('content-length: 4000', 'a'.repeat(2001))).toMatch(/^HTTP\/1.1 413 /)
  const chunk = `7d1\r\n${'a'.repeat(2001)}\r\n`
  expect(await post('transfer-encoding: chunked', chunk)).toMatch(/^HTTP\/1.1 413 /)
  expect(started.failures).toEqual([])
})

test('a body that nobody read is not taken for the next request', async () => {
  await using started = await testGateway({ beside: async () => new Response('ok') })
  const socket = await rawSocket(started.gateway.port)
  socket.write('POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 40\r\n\r\nGET /dbs HTTP/1.1\r\n')
  expect(await received(socket)).toMatch(/^HTTP\/1.1 200 [^]*connection: close[^]*ok/i)
})

test('what it throws is an error response in the form of the gateway, and is reported', async () => {
  const fault = new Error('secret')
  await using started = await testGateway({
    beside: async ({ url }) => {
      if (url.endsWith('late')) {
        return new Response(new ReadableStream({ pull: (stream) => stream.error(fault) }))
      }
      throw fault
    },
  })
  const { endpoint } = started.gateway
  const answer = await fetch(`${endpoint}x`)
  expect(answer.status).toBe(500)
  expect(await answer.text()).not.toContain('secret')
  await expect(fetch(`${endpoint}late`).then((late) => late.text())).rejects.toThrow()
  expect(started.failures).toMatchObject([
    { path: '/x', error: fault },
    { path: '/late', error: fault },
  ])
})

test('a host header that is no address is 400 before it is asked', async () => {
  await using started = await testGateway({ beside: async () => new Response('no') })
  const call = request(`${started.gateway.endpoint}x`, { headers: { host: 'a b"' } }).end()
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  answer.resume()
  expect(answer.statusCode).toBe(400)
})

/** Answers with a stream of events, which begins empty; nothing else is ever answered. */
function eventSource() {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  const [aborted, cancelled] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
  const beside = async ({ url, signal }: Request) => {
    if (!url.endsWith('/events')) return new Promise<never>(() => {})
    signal.addEventListener('abort', () => aborted.resolve(signal.reason))
    const body = new ReadableStream<Uint8Array>({
      start: (opened) => void (stream = opened),
      cancel: (reason) => cancelled.resolve(reason),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }
  const say = (text: string): void => stream?.enqueue(new TextEncoder().encode(text))
  return { beside, say, ends: Promise.all([aborted.promise, cancelled.promise]) }
}

async function listen(endpoint: string, signal?: AbortSignal) {
  const { status, body } = await fetch(`${endpoint}events`, signal ? { signal } : {})
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  return { status, next: async () => (await reader?.read())?.value }
}

test('events flow as they come, beyond the time of a request, until the client leaves', async () => {
  const source = eventSource()
  await using started = await testGateway({
    beside: source.beside,
    requestTimeoutMs: 30,
    maxWaitMs: 0,
  })
  const { endpoint } = started.gateway
  const client = new AbortController()
  const events = await listen(endpoint, client.signal)
  source.say('one')
  expect(await events.next()).toBe('one')
  // It began later, and has had all its time.
  expect((await fetch(`${endpoint}hangs`)).status).toBe(408)
  source.say('two')
  expect(await events.next()).toBe('two')
  client.abort()
  const gone = { code: 'ERR_CLIENT_GONE' }
  expect(await source.ends).toMatchObject([gone, gone])
  expect(started.failures).toEqual([])
})

test('a stream that is there after its client left is cancelled, as is one that must not begin', async () => {
  const asked = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const cancelled: PromiseWithResolvers<unknown>[] = []
  const stream = (): Response => {
    const end = Promise.withResolvers<unknown>()
    cancelled.push(end)
    const body = new ReadableStream<Uint8Array>({ cancel: (reason) => end.resolve(reason) })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  await using started = await testGateway({
    maxWaitingReads: 1,
    beside: async ({ url, signal }) => {
      if (!url.endsWith('/slow')) return stream()
      signal.addEventListener('abort', () => left.resolve())
      asked.resolve()
      await left.promise
      return stream()
    },
  })
  const { endpoint } = started.gateway
  const client = new AbortController()
  const slow = fetch(`${endpoint}slow`, { signal: client.signal })
  await asked.promise
  client.abort()
  await expect(slow).rejects.toThrow()
  await expect.poll(() => cancelled.length).toBe(1)
  await cancelled[0]?.promise
  const first = new AbortController()
  await fetch(`${endpoint}x`, { signal: first.signal })
  expect((await fetch(`${endpoint}x`)).status).toBe(429)
  await cancelled[2]?.promise
  first.abort()
  await cancelled[1]?.promise
  expect(started.failures).toEqual([])
})

test('a stop ends streams of events at once, not when its time is over', async () => {
  const source = eventSource()
  await using started = await testGateway({ beside: source.beside, stopTimeoutMs: 1_000_000 })
  const events = await listen(started.gateway.endpoint)
  await started.gateway.stop()
  const stopping = { code: 'ERR_GATEWAY_STOPPING' }
  expect(await source.ends).toMatchObject([stopping, stopping])
  await expect(events.next()).rejects.toThrow()
  expect(started.failures).toEqual([])
})

test('streams of events count as waiting reads, what else is asked as requests', async () => {
  const source = eventSource()
  await using started = await testGateway({
    beside: source.beside,
    maxWaitingReads: 2,
    maxConcurrentRequests: 2,
  })
  const { endpoint } = started.gateway
  expect((await listen(endpoint)).status).toBe(200)
  expect((await listen(endpoint)).status).toBe(429)
  const client = new AbortController()
  const hanging = fetch(`${endpoint}hangs`, { signal: client.signal })
  await expect.poll(async () => (await fetch(`${endpoint}hangs`)).status).toBe(429)
  client.abort()
  await expect(hanging).rejects.toThrow()
})
