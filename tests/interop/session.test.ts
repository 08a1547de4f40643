import { ConsistencyLevel, type Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop({ gateway: { maxWaitMs: 50 } })
})
beforeEach(async () => {
  container = await interop.container({ throughput: 20_000 })
})
afterAll(() => interop.close())

const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["x"]' }

describe('Session consistency', () => {
  test('writes and reads answer with a session token of their range', async () => {
    const written = await container.items.create({ id: 'a', pk: 'x' })
    const read = await container.item('a', 'x').read()
    for (const { headers } of [written, read]) {
      expect(headers['x-ms-session-token']).toMatch(/^\d+:-1#\d+$/)
    }
  })

  test('tokens of one range only rise', async () => {
    const lsns: number[] = []
    for (let n = 0; n < 5; n++) {
      const { headers } = await container.items.upsert({ id: 'a', pk: 'x', n })
      lsns.push(Number(String(headers['x-ms-session-token']).split('#')[1]))
    }
    expect(lsns).toEqual(lsns.toSorted((a, b) => a - b))
    expect(new Set(lsns).size).toBe(5)
  })

  test('CF-15 a client of level Session writes and reads its own writes', async () => {
    const client = interop.connect({ consistencyLevel: ConsistencyLevel.Session })
    const own = client.database('interop').container(container.id)
    for (let n = 0; n < 5; n++) {
      await own.items.upsert({ id: 'a', pk: 'x', n })
      expect((await own.item('a', 'x').read()).resource).toMatchObject({ n })
      const query = own.items.query<number>('SELECT VALUE c.n FROM c WHERE c.n >= 0')
      expect((await query.fetchAll()).resources).toEqual([n])
    }
  })

  test('CF-15 a token taken from one client is met for another', async () => {
    const { headers } = await container.items.create({ id: 'a', pk: 'x' })
    const sessionToken = String(headers['x-ms-session-token'])
    const other = interop.connect().database('interop').container(container.id)
    expect((await other.item('a', 'x').read({ sessionToken })).statusCode).toBe(200)
  })

  test('CF-15 a token that is ahead of the gateway is 404 with substatus 1002', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const { status, headers } = await interop.send({
      path: `${pathOf(container)}/docs/a`,
      headers: { ...KEY_HEADER, 'x-ms-session-token': '0:-1#1000,1:-1#1000' },
    })
    expect([status, headers.get('x-ms-substatus')]).toEqual([404, '1002'])
  })

  test.each([
    ['a list', 'GET', undefined],
    ['a query for everything', 'POST', 'SELECT * FROM c'],
    ['a query with a condition', 'POST', 'SELECT * FROM c WHERE c.n > 0'],
  ] as const)(
    'CF-15 %s with a token that is ahead is 404 with substatus 1002',
    async (_, method, query) => {
      const { status, headers } = await interop.send({
        method,
        path: `${pathOf(container)}/docs`,
        headers: {
          'x-ms-session-token': '1:-1#1000',
          'x-ms-documentdb-query-enablecrosspartition': 'true',
          ...(query !== undefined && { 'content-type': 'application/query+json' }),
        },
        ...(query !== undefined && { body: { query } }),
      })
      expect([status, headers.get('x-ms-substatus')]).toEqual([404, '1002'])
    },
  )

  test('a token of a parent counts for the child after a split', async () => {
    for (let n = 0; n < 6; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    const { headers } = await container.items.create({ id: 'a', pk: 'A' })
    const sessionToken = String(headers['x-ms-session-token'])
    await interop.split(container, sessionToken.split(':')[0] ?? '')
    expect((await container.item('a', 'A').read({ sessionToken })).statusCode).toBe(200)
  })

  test('CF-15 a token of a parent that is ahead of the child is 404 with substatus 1002', async () => {
    for (let n = 0; n < 6; n++) await container.items.create({ id: `d${n}`, pk: `p${n}` })
    await container.items.create({ id: 'a', pk: 'A' })
    await interop.split(container, '0')
    const { status, headers } = await interop.send({
      path: `${pathOf(container)}/docs/a`,
      headers: {
        'x-ms-documentdb-partitionkey': '["A"]',
        'x-ms-session-token': '0:-1#1000',
      },
    })
    expect([status, headers.get('x-ms-substatus')]).toEqual([404, '1002'])
  })

  test('a client of level Session goes on over a split', async () => {
    const client = interop.connect({ consistencyLevel: ConsistencyLevel.Session })
    const own = client.database('interop').container(container.id)
    for (let n = 0; n < 8; n++) await own.items.create({ id: `d${n}`, pk: `p${n}` })
    await interop.split(container, '0')
    for (let n = 0; n < 8; n++) {
      expect((await own.item(`d${n}`, `p${n}`).read()).statusCode).toBe(200)
    }
  })

  test('a client of level Session goes on with a container that was made anew', async () => {
    const client = interop.connect({ consistencyLevel: ConsistencyLevel.Session })
    const { containers } = client.database('interop')
    const made = async () =>
      (await containers.create({ id: 'session-anew', partitionKey: '/pk' })).container
    const first = await made()
    for (let n = 0; n < 5; n++) await first.items.create({ id: `d${n}`, pk: 'x' })
    await first.delete()
    const second = await made()
    await second.items.create({ id: 'a', pk: 'x' })
    expect((await second.item('a', 'x').read()).statusCode).toBe(200)
  })

  test.each(['nonsense', '0:1', '7:-1#3', '0:1#1#4=9#5=1', ''])(
    'a token of another kind, %j, is no error',
    async (token) => {
      await container.items.create({ id: 'a', pk: 'x' })
      const { status } = await interop.send({
        path: `${pathOf(container)}/docs/a`,
        headers: { ...KEY_HEADER, 'x-ms-session-token': token },
      })
      expect(status).toBe(200)
    },
  )

  test.each(['Strong', 'BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual'])(
    'consistency level %s is accepted',
    async (level) => {
      await container.items.create({ id: 'a', pk: 'x' })
      const client = interop.connect({ consistencyLevel: level as never })
      const item = client.database('interop').container(container.id).item('a', 'x')
      expect((await item.read()).statusCode).toBe(200)
    },
  )

  test.each([
    ['2017-11-15', /^0:\d+$/],
    ['2018-06-18', /^0:-1#\d+$/],
  ])('a client of version %s gets a token in a form that it reads', async (version, form) => {
    const headers = { ...KEY_HEADER, 'x-ms-version': version }
    const path = `${pathOf(await interop.container())}/docs`
    const body = { id: 'a', pk: 'x' }
    const written = await interop.send({ method: 'POST', path, headers, body })
    const token = String(written.headers.get('x-ms-session-token'))
    expect(token).toMatch(form)
    const read = await interop.send({
      path: `${path}/a`,
      headers: { ...headers, 'x-ms-session-token': token },
    })
    expect(read.status).toBe(200)
    const ahead = { ...headers, 'x-ms-session-token': token.replace(/\d+$/, '1000') }
    const refused = await interop.send({ path: `${path}/a`, headers: ahead })
    expect([refused.status, refused.headers.get('x-ms-substatus')]).toEqual([404, '1002'])
  })

  test('a consistency level that is none is 400', async () => {
    const headers = { ...KEY_HEADER, 'x-ms-consistency-level': 'Junk' }
    const { status, json } = await interop.send({ path: `${pathOf(container)}/docs/a`, headers })
    expect(status).toBe(400)
    expect(json?.['message']).toContain('x-ms-consistency-level')
  })

  test('a feed page has a token too', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const page = await container.items.getChangeFeedIterator({}).readNext()
    expect(page.headers['x-ms-session-token']).toMatch(/^\d+:-1#\d+$/)
  })

  test('reading what is not there with a session is 404 without substatus', async () => {
    const { headers } = await container.items.create({ id: 'a', pk: 'x' })
    const { status, headers: answered } = await interop.send({
      path: `${pathOf(container)}/docs/none`,
      headers: { ...KEY_HEADER, 'x-ms-session-token': String(headers['x-ms-session-token']) },
    })
    expect([status, answered.get('x-ms-substatus')]).toEqual([404, null])
    expect((await refusal(container.item('none', 'x').delete())).code).toBe(404)
  })
})
