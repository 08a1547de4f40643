import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { nodeHandler, serveRequests, type ServeRequestsOptions } from './serve-requests.ts'

const listening = (options: Omit<ServeRequestsOptions, 'port'>) =>
  serveRequests({ port: 0, stopTimeoutMs: 1_000, ...options })

test('a handler of the web platform is served: addresses, bodies and answers arrive', async () => {
  await using served = await listening({
    answer: async (request) => {
      const text = `${request.method} ${new URL(request.url).pathname} ${await request.text()}`
      return new Response(text, { status: 418 })
    },
  })
  const answer = await fetch(`${served.endpoint}a%20b`, { method: 'POST', body: 'body' })
  expect([answer.status, await answer.text()]).toEqual([418, 'POST /a%20b body'])
})

test('what the handler throws is 500 without a word of it, and is reported', async () => {
  const failures: unknown[] = []
  const fault = new Error('secret')
  await using served = await listening({
    answer: () => Promise.reject(fault),
    onFailure: (error) => failures.push(error),
  })
  const answer = await fetch(served.endpoint)
  expect([answer.status, await answer.text()]).toEqual([500, ''])
  expect(failures).toEqual([fault])
})

test('a log that fails ends neither the request that it reports nor the process', async () => {
  const server = createServer(
    nodeHandler(() => Promise.reject(new Error('secret')), {
      onFailure: () => {
        throw new Error('the log is full')
      },
    }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(500)
  } finally {
    server.close()
  }
})

test('stop ends streams of events, and lets other answers finish', async () => {
  const begun = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const cancelled = Promise.withResolvers<void>()
  const served = await listening({
    answer: async ({ url }) => {
      if (url.endsWith('slow')) {
        begun.resolve()
        await going.promise
        return new Response('done')
      }
      const body = new ReadableStream({ cancel: () => cancelled.resolve() })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const events = await fetch(`${served.endpoint}events`)
  const slow = fetch(`${served.endpoint}slow`)
  await begun.promise
  const stopped = served.stop()
  await cancelled.promise
  going.resolve()
  expect(await (await slow).text()).toBe('done')
  await stopped
  await expect(events.text()).rejects.toThrow()
  await expect(fetch(served.endpoint)).rejects.toThrow()
})

test('an answer that is there after its client left is cancelled, as is one that is no bytes', async () => {
  const asked = Promise.withResolvers<void>()
  const [late, wrong] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await using served = await listening({
    answer: async ({ url, signal }) => {
      if (url.endsWith('wrong')) {
        const start = (body: ReadableStreamDefaultController<unknown>) => body.enqueue('text')
        const cancel = (): void => wrong.resolve()
        return new Response(
          new ReadableStream({ start, cancel }) as ReadableStream<Uint8Array<ArrayBuffer>>,
        )
      }
      const left = once(signal, 'abort')
      asked.resolve()
      await left
      return new Response(new ReadableStream({ cancel: () => late.resolve() }))
    },
  })
  const client = new AbortController()
  const slow = fetch(served.endpoint, { signal: client.signal })
  await asked.promise
  client.abort()
  await expect(slow).rejects.toThrow()
  await late.promise
  await expect(fetch(`${served.endpoint}wrong`).then((answer) => answer.text())).rejects.toThrow()
  await wrong.promise
})

test('plain http off loopback has to be allowed', async () => {
  const answer = async (): Promise<Response> => new Response()
  await expect(listening({ answer, host: '0.0.0.0' })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
  await using served = await listening({ answer, host: '0.0.0.0', insecureHttp: true })
  expect((await fetch(served.endpoint)).status).toBe(200)
})

test.each([
  { stopTimeoutMs: Number.NaN },
  { stopTimeoutMs: 2 ** 31 },
  { headersTimeoutMs: -1 },
  { receiveTimeoutMs: 0.5 },
  { keepAliveTimeoutMs: 2 ** 31 },
  { silenceTimeoutMs: -1 },
  { maxHeaderBytes: 0 },
  { maxConnections: 0 },
  { port: 65_536 },
])('%o is refused', async (options) => {
  const answer = async (): Promise<Response> => new Response()
  await expect(listening({ answer, ...options })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    message: expect.stringMatching(`^${Object.keys(options)[0]} must be a whole number from`),
  })
})
