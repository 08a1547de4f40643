import { systemClock, type Clock } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { CosmosConnection, type WireRequest } from './cosmos-connection.ts'
import { AnswerTooLargeError, type HttpFetch } from './platform/http-fetch.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
/** The date of the test vectors. */
const DATE_MS = Date.UTC(2026, 0, 2, 3, 4, 5)

interface Answered {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A server that gives one answer after the other, and keeps what it was asked. */
function fakeServer(...answers: readonly (Answered | Error)[]) {
  const asked: Parameters<HttpFetch>[] = []
  const fetch: HttpFetch = async (...request) => {
    asked.push(request)
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer')
    const { status, headers, body = '{}' } = answer
    return { status, headers: new Headers(headers), text: () => Promise.resolve(body) }
  }
  return { asked, fetch }
}

/** Sleeps are over at once, and kept. */
function hastyClock(): Clock & { readonly slept: readonly number[] } {
  const slept: number[] = []
  return {
    slept,
    wallMs: () => DATE_MS,
    monotonicMs: () => slept.reduce((sum, ms) => sum + ms, 0),
    sleep: async (delayMs, signal, { purpose } = {}) => {
      // The timer of an attempt never goes off.
      if (purpose === 'background') return systemClock.sleep(2 ** 30, signal, { purpose })
      slept.push(delayMs)
      return undefined
    },
  }
}

function connect(fetch: HttpFetch, clock: Clock = hastyClock()): CosmosConnection {
  const random = { fraction: () => 1, hex: () => '' }
  return new CosmosConnection({ endpoint: 'http://server:8081', key: KEY, fetch, clock, random })
}

const read: WireRequest = {
  method: 'GET',
  path: ['dbs', 'ToDoList'],
  subject: { resource: 'database', id: 'ToDoList', effect: 'none' },
}
const write: WireRequest = {
  method: 'POST',
  path: ['dbs', 'ToDoList', 'colls', 'Items', 'docs'],
  body: '{}',
  subject: { resource: 'document', id: 'a', effect: 'write' },
}
const refused = new TypeError('fetch failed', {
  cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
})
const broken = new TypeError('fetch failed', {
  cause: Object.assign(new Error('read'), { code: 'ECONNRESET' }),
})

test('requests are signed as the published vectors say, and names are encoded once', async () => {
  const { asked, fetch } = fakeServer({ status: 200 })
  const connection = connect(fetch)
  await connection.send(read)
  await connection.send(write)
  await connection.send({ ...read, path: [...write.path, 'a b'] })
  const sent = asked.map(([url, { headers }]) => [url, headers['authorization']])
  const sig = 'type%3Dmaster%26ver%3D1.0%26sig%3D'
  expect(sent).toEqual([
    ['http://server:8081/dbs/ToDoList', `${sig}8rG%2F1cMDoFxDBxIi3Y%2BnfI7Goh9B9AQhmR27mde8ey4%3D`],
    [
      'http://server:8081/dbs/ToDoList/colls/Items/docs',
      `${sig}hJBJuI8ZVqDKQ1uznCAk1PggcNd4ns8mKAq6OxJXPRU%3D`,
    ],
    [
      'http://server:8081/dbs/ToDoList/colls/Items/docs/a%20b',
      `${sig}gRoRRm9PyeIkE1cbv8ZUTTu1j5jVK6l1D8Gg2AI8c8w%3D`,
    ],
  ])
})

test('a throttled write waits as the server asks and is sent again, with a new signature', async () => {
  const throttled = { status: 429, headers: { 'x-ms-retry-after-ms': '77' } }
  const { asked, fetch } = fakeServer(throttled, throttled, { status: 201 })
  const clock = hastyClock()
  expect((await connect(fetch, clock).send(write)).status).toBe(201)
  expect(clock.slept).toEqual([77, 77])
  expect(asked).toHaveLength(3)
})

test('a negative time to wait counts as none', async () => {
  const clock = hastyClock()
  const throttled = { status: 429, headers: { 'x-ms-retry-after-ms': '-1000000' } }
  const { fetch } = fakeServer(throttled, { status: 201 })
  await connect(fetch, clock).send(write)
  expect(clock.slept).toEqual([50])
})

test('an answer that is too large is asked for once', async () => {
  const { asked, fetch } = fakeServer(new AnswerTooLargeError(256), { status: 200 })
  await expect(connect(fetch).send(read)).rejects.toMatchObject({
    code: 'ERR_SERVER_UNSUPPORTED',
    retryable: false,
    message: 'http://server:8081/: the answer has more than 256 bytes',
  })
  expect(asked).toHaveLength(1)
})

test.each(['a message', 'ActivityId: a b', ''])(
  'the message %j of an error stays as it is',
  async (message) => {
    const { fetch } = fakeServer({ status: 400, body: JSON.stringify({ message }) })
    await expect(connect(fetch).send(read)).rejects.toThrow(message)
  },
)

test('the id of the activity at the end of a message is left out', async () => {
  const message = 'ActivityId: x is no name. \r\nActivityId: 5f-1 '
  const { fetch } = fakeServer({ status: 400, body: JSON.stringify({ message }) })
  await expect(connect(fetch).send(read)).rejects.toThrow(
    /^ActivityId: x is no name\. \(status 400\)$/,
  )
})

test('a write whose connection broke is not sent again, and its error says that nobody knows', async () => {
  const { asked, fetch } = fakeServer(broken, { status: 201 })
  const sent = connect(fetch).send(write)
  await expect(sent).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', retryable: true })
  await expect(sent).rejects.toThrow(/outcome is unknown/)
  expect(asked).toHaveLength(1)
})

test('a read whose connection broke is sent again; one that nobody takes is, too, whatever it is', async () => {
  const first = fakeServer(broken, { status: 503 }, { status: 200 })
  expect((await connect(first.fetch).send(read)).status).toBe(200)
  const second = fakeServer(refused, refused, { status: 201 })
  expect((await connect(second.fetch).send(write)).status).toBe(201)
  const never = fakeServer(refused)
  const sent = connect(never.fetch).send(read)
  await expect(sent).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  await expect(sent).rejects.not.toThrow(/outcome/)
  expect(never.asked).toHaveLength(10)
})

test('an attempt without an answer in time is over, and told from an abort', async () => {
  const clock = new SimulatedClock()
  const hanging: HttpFetch = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
  const sent = connect(hanging, clock).send(write)
  const outcome = expect(sent).rejects.toThrow(/no answer .* within 10000 ms; its outcome/)
  await clock.advance(10_000)
  await outcome
  const stop = new AbortController()
  const aborted = connect(hanging, clock).send({ ...read, signal: stop.signal })
  stop.abort(new Error('enough'))
  await expect(aborted).rejects.toThrow('enough')
})

const CASES: readonly (readonly [Answered, string, object])[] = [
  [{ status: 400 }, 'ERR_BAD_REQUEST', {}],
  [{ status: 401 }, 'ERR_UNAUTHORIZED', {}],
  [{ status: 403 }, 'ERR_FORBIDDEN', {}],
  [{ status: 404 }, 'ERR_NOT_FOUND', { resource: 'document' }],
  [substatus(404, 1003), 'ERR_NOT_FOUND', { resource: 'collection' }],
  [substatus(404, 1002), 'ERR_SESSION_AHEAD', {}],
  [substatus(400, 1001), 'ERR_PARTITION_KEY_MISMATCH', {}],
  [substatus(400, 1024), 'ERR_NOT_FOUND', { resource: 'collection' }],
  [{ status: 409 }, 'ERR_EXISTS', { resource: 'document', resourceId: 'a' }],
  [
    own(409, 'ERR_UNIQUE_KEY', '%2Fmail,%2F%22a%2Fb%22'),
    'ERR_UNIQUE_KEY',
    { resourceId: 'a', paths: ['/mail', '/"a/b"'] },
  ],
  [own(409, 'ERR_UNIQUE_KEY', '%'), 'ERR_UNIQUE_KEY', { paths: [] }],
  [substatus(410, 1002), 'ERR_RANGE_GONE', {}],
  [substatus(410, 1007), 'ERR_RANGE_GONE', {}],
  [{ status: 412 }, 'ERR_PRECONDITION_FAILED', { resourceId: 'a' }],
  [{ status: 413 }, 'ERR_DOCUMENT_TOO_LARGE', {}],
  [substatus(429, 3200), 'ERR_THROTTLED', {}],
  [{ status: 449 }, 'ERR_STORE_UNAVAILABLE', {}],
  [{ status: 500, body: '<html>' }, 'ERR_STORE_UNAVAILABLE', {}],
  [{ status: 503 }, 'ERR_STORE_UNAVAILABLE', {}],
  [own(400, 'ERR_INVALID_CONTINUATION'), 'ERR_INVALID_CONTINUATION', {}],
  [own(400, 'ERR_HORIZON_PASSED', '7,9'), 'ERR_HORIZON_PASSED', { lsn: 7, horizon: 9 }],
  [own(404, 'ERR_NOT_FOUND', 'collection'), 'ERR_NOT_FOUND', { resource: 'collection' }],
  [own(400, 'ERR_OF_TOMORROW'), 'ERR_BAD_REQUEST', {}],
]

test.each(CASES)('the answer %o is %s', async (answer, code, fields) => {
  const { fetch } = fakeServer(answer)
  const range = { minInclusive: '', maxExclusive: 'FF' }
  const sent = connect(fetch).send({ ...write, subject: { ...write.subject, range } })
  await expect(sent).rejects.toMatchObject({ code, ...fields })
})

test('options that make no sense are refused, and the key is not shown', () => {
  const secret = 'not base64 at all!'
  const make = (options: object) => () =>
    new CosmosConnection({ endpoint: 'http://server', key: KEY, ...options })
  for (const options of [
    { endpoint: 'server' },
    { endpoint: 'ftp://server' },
    { requestTimeoutMs: 0 },
    { maxAttempts: 1.5 },
    { maxRetryMs: -1 },
    { key: secret },
  ]) {
    expect(make(options)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  }
  expect(make({ key: secret })).not.toThrow(secret)
})

function substatus(status: number, value: number): Answered {
  return { status, headers: { 'x-ms-substatus': String(value) } }
}

function own(status: number, code: string, detail?: string): Answered {
  const headers = { 'x-tidemark-error': code, ...(detail && { 'x-tidemark-error-detail': detail }) }
  return { status, headers }
}
