import { once } from 'node:events'
import { murmur3x86 } from '@tidemark/contracts/internal'
import { expect, test, vi } from 'vitest'
import { OWN_HEADER, asciiJson } from '../protocol/extension-wire.ts'
import { rawRequest, rawSocket, send } from './raw-request.fixture.ts'
import { testGateway, type TestGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const QUERY = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' }
const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["x"]' }
const MIB = 1024 * 1024

/** A gateway with documents of 1 MiB. */
async function served(
  documents: number,
  options: NonNullable<Parameters<typeof testGateway>[0]> = {},
): Promise<TestGateway> {
  const started = await testGateway({ maxClientShare: 1, ...options })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  for (let n = 0; n < documents; n++) {
    await container.items.create({ id: `d${n}`, pk: 'x', text: 'a'.repeat(MIB) })
  }
  return started
}

function query({ gateway }: TestGateway, body: object): ReturnType<typeof send> {
  return send(gateway.endpoint, 'POST', DOCS, { headers: QUERY, body: JSON.stringify(body) })
}

test('answers that nobody takes count until they are sent; small ones are served meanwhile', async () => {
  await using started = await served(30, { queryLimits: { maxHeldChars: 32 * MIB } })
  const page = { headers: { 'x-ms-max-item-count': '-1' } }
  const list = async (): Promise<number> =>
    (await send(started.gateway.endpoint, 'GET', DOCS, page)).status
  expect(await list()).toBe(200)
  // Each page has 4 MiB; these read nothing of theirs. More than the eight that fill the limit, because the system's own
  // buffers may take the whole page of some.
  const slow = await Promise.all(Array.from({ length: 16 }, () => rawSocket(started.gateway.port)))
  for (const socket of slow) {
    socket.write(rawRequest('GET', DOCS, page))
    socket.pause()
  }
  await expect.poll(list).toBe(429)
  const { status } = await send(started.gateway.endpoint, 'GET', '/dbs')
  expect(status).toBe(200)
  for (const socket of slow) socket.destroy()
  await expect.poll(list).toBe(200)
  expect(started.failures).toEqual([])
})

test('a body that would be held beyond the limit is refused, and nothing is written', async () => {
  await using started = await served(0, { queryLimits: { maxHeldChars: MIB } })
  const create = async (id: string, chars: number): Promise<number> => {
    const body = JSON.stringify({ id, pk: 'x', text: 'a'.repeat(chars) })
    return (await send(started.gateway.endpoint, 'POST', DOCS, { headers: KEY_HEADER, body }))
      .status
  }
  expect(await create('large', 2 * MIB - 1_000)).toBe(429)
  expect(await create('small', MIB)).toBe(201)
  const { json } = await query(started, { query: 'SELECT VALUE c.id FROM c' })
  expect(json).toMatchObject({ Documents: ['small'] })
  expect(started.failures).toEqual([])
})

test('the answer to a write that was done is not refused', async () => {
  await using started = await served(0, { queryLimits: { maxHeldChars: MIB } })
  // The body is just what may be held; the answer has system properties besides.
  const id = 'a'
  const text = 'a'.repeat(MIB + 256 * 1024 - JSON.stringify({ id, pk: 'x', text: '' }).length)
  const body = JSON.stringify({ id, pk: 'x', text })
  const { status } = await send(started.gateway.endpoint, 'POST', DOCS, {
    headers: KEY_HEADER,
    body,
  })
  expect(status).toBe(201)
})

test.each([
  ['many small objects', Array.from({ length: 600_000 }, () => ({}))],
  ['names like indexes', Array.from({ length: 40_000 }, () => ({ 4294967290: 0 }))],
])('parameters of %s are 400 before they are parsed', async (_what, value) => {
  await using started = await served(0)
  const parsed = vi.spyOn(JSON, 'parse')
  const parameters = [{ name: '@p', value }]
  const answer = await query(started, { query: 'SELECT VALUE 1 FROM c', parameters })
  expect(answer).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('maxRowSteps') },
  })
  expect(parsed.mock.calls.filter(([text]) => text.includes('@p'))).toEqual([])
  parsed.mockRestore()
})

test('parameters count while their query runs', async () => {
  await using started = await served(1, { queryLimits: { maxHeldChars: 3 * MIB } })
  const value = Array.from({ length: 200_000 }, () => 0)
  const answer = await query(started, {
    query: 'SELECT VALUE 1 FROM c WHERE ARRAY_LENGTH(@p) = 0',
    parameters: [{ name: '@p', value }],
  })
  // 400,000 characters on the wire; a place takes 8 more.
  expect(answer.status).toBe(200)
  const more = await query(started, {
    query: 'SELECT VALUE 1 FROM c WHERE ARRAY_LENGTH(@p) = 0',
    parameters: [{ name: '@p', value: [...value, ...value] }],
  })
  expect(more.status).toBe(429)
})

test('of large bodies that arrive at once, one is parsed between two turns of the event loop', async () => {
  await using started = await served(0)
  let turn = 0
  let isOver = false
  const count = (): void => {
    turn++
    if (!isOver) setImmediate(count)
  }
  count()
  const turns: number[] = []
  const parse = JSON.parse.bind(JSON)
  const spied = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    if (text.length > 100_000) turns.push(turn)
    return parse(text, reviver) as unknown
  })
  const body = JSON.stringify({ query: 'SELECT 1', note: 'a'.repeat(120_000) })
  const headers = { ...QUERY, 'content-length': String(body.length) }
  const sockets = await Promise.all(
    Array.from({ length: 8 }, () => rawSocket(started.gateway.port)),
  )
  for (const socket of sockets) {
    socket.write(rawRequest('POST', DOCS, { headers }) + body.slice(0, -1))
  }
  // All but the last characters are there by then.
  const before = turn
  await expect.poll(() => turn).toBeGreaterThan(before + 100)
  const answered = sockets.map((socket) => once(socket, 'data'))
  for (const socket of sockets) socket.write(body.slice(-1))
  await Promise.all(answered)
  isOver = true
  spied.mockRestore()
  for (const socket of sockets) socket.destroy()
  expect(turns).toHaveLength(8)
  expect(new Set(turns).size).toBe(8)
})

test.each(['x', '-1000000000', '1e9', ''])(
  'a continuation of a list whose place a client made up is 400: %j',
  async (place) => {
    await using started = await served(0)
    await send(started.gateway.endpoint, 'POST', '/dbs', { body: '{"id":"db2"}' })
    const read = (continuation?: string): ReturnType<typeof send> =>
      send(started.gateway.endpoint, 'POST', '/dbs', {
        headers: {
          ...QUERY,
          'x-ms-max-item-count': '1',
          ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
        },
        body: JSON.stringify({ query: 'SELECT * FROM c' }),
      })
    const first = await read()
    const token = String(first.headers.get('x-ms-continuation'))
    expect(await read(token)).toMatchObject({ status: 200, json: { _count: 1 } })
    const answer = await read(forged(token, (state) => state.with(3, place)))
    expect(answer).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('Invalid Continuation Token') },
    })
    expect(started.failures).toEqual([])
  },
)

test('a continuation with other keys than those of ORDER BY is 400', async () => {
  await using started = await served(0)
  for (const id of ['a', 'b', 'c']) {
    const body = JSON.stringify({ id, pk: 'x', n: 1 })
    await send(started.gateway.endpoint, 'POST', DOCS, { headers: KEY_HEADER, body })
  }
  const read = (continuation?: string): ReturnType<typeof send> =>
    send(started.gateway.endpoint, 'POST', DOCS, {
      headers: {
        ...QUERY,
        ...KEY_HEADER,
        'x-ms-max-item-count': '1',
        ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
      },
      body: JSON.stringify({ query: 'SELECT c.id FROM c ORDER BY c.n' }),
    })
  const token = String((await read()).headers.get('x-ms-continuation'))
  expect((await read(token)).status).toBe(200)
  for (const keys of [[], [1, 1], Array.from({ length: 3_000 }, () => [])]) {
    expect((await read(forged(token, (state) => state.with(3, keys)))).status).toBe(400)
  }
})

/** The checksum of continuations finds what was cut off; it keeps nobody from making one. */
function forged(token: string, change: (state: unknown[]) => unknown[]): string {
  const parts = token.split('.')
  const state = JSON.parse(Buffer.from(parts[3] ?? '', 'base64url').toString()) as unknown[]
  parts[3] = Buffer.from(JSON.stringify(change(state))).toString('base64url')
  const text = parts.slice(0, 4).join('.')
  const sum = murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
  return `${text}.${sum}`
}

test('a partition of more than 16 Mi characters is not read in one answer', async () => {
  await using started = await served(15)
  const read = (): ReturnType<typeof send> =>
    send(started.gateway.endpoint, 'GET', '/dbs/db/colls/c/operations/tidemark', {
      headers: {
        [OWN_HEADER.call]: asciiJson({ call: 'readPartition', partitionKey: '["x"]' }),
      },
    })
  expect((await read()).status).toBe(200)
  for (const id of ['e', 'f']) {
    const body = JSON.stringify({ id, pk: 'x', text: 'a'.repeat(MIB) })
    await send(started.gateway.endpoint, 'POST', DOCS, { headers: KEY_HEADER, body })
  }
  expect(await read()).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('read its documents in pages') },
  })
})
