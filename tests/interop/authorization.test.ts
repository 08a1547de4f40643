import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  KEY,
  READ_ONLY_KEY,
  openInterop,
  pathOf,
  refusal,
  type Interop,
} from './interop.fixture.ts'
import { authorization } from './signed-request.ts'

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

const WRONG_KEY = Buffer.from('quite another key of this length').toString('base64')

/** A request with whatever authorization header is given. */
async function withAuthorization(value: string | undefined, date = new Date()) {
  const response = await fetch(new URL('dbs', interop.gateway.endpoint), {
    headers: {
      'x-ms-date': date.toUTCString(),
      ...(value !== undefined && { authorization: value }),
    },
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

describe('Authorization', () => {
  test('the key of the account is accepted', async () => {
    expect((await interop.client.databases.readAll().fetchAll()).resources).toHaveLength(1)
  })

  test('another key is 401, with a message that does not show the right one', async () => {
    const client = interop.connect({ key: WRONG_KEY })
    const error = await refusal(client.databases.create({ id: 'mine' }))
    expect(error.code).toBe(401)
    expect(error.message).not.toContain(KEY)
    expect((await interop.store.listDatabases()).map(({ id }) => id)).toEqual(['interop'])
  })

  test('a body of code and message comes with 401', async () => {
    const { status, body } = await withAuthorization(undefined)
    expect(status).toBe(401)
    expect(body).toMatchObject({ code: 'Unauthorized', message: expect.any(String) })
  })

  test.each([
    ['nothing'],
    ['type%3Dmaster%26ver%3D1.0%26sig%3D'],
    ['type%3Dmaster%26ver%3D1.0%26sig%3Dabc'],
    ['type%3Dmaster%26ver%3D2.0%26sig%3DAAAA'],
    ['type%3Dmaster'],
    ['%E0%A4%A'],
    ['Bearer token'],
    ['type%3Dresource%26ver%3D1%26sig%3Dabc%3D'],
    ['type%3Daad%26ver%3D1.0%26sig%3Dtoken'],
  ])('the header %s is 401', async (value) => {
    expect((await withAuthorization(value)).status).toBe(401)
  })

  test('a signature of another verb, path or date is 401', async () => {
    const msDate = new Date().toUTCString()
    const signed = (method: string, path: string) => authorization({ method, path, msDate }, KEY)
    expect((await withAuthorization(signed('POST', 'dbs'))).status).toBe(401)
    expect((await withAuthorization(signed('GET', 'dbs/other'))).status).toBe(401)
    const earlier = new Date(Date.now() - 60_000)
    expect((await withAuthorization(signed('GET', 'dbs'), earlier)).status).toBe(401)
  })

  test('a date of 20 minutes ago, or in 20 minutes, is 403', async () => {
    for (const minutes of [-20, 20]) {
      const date = new Date(Date.now() + minutes * 60_000)
      expect((await interop.send({ path: 'dbs', date })).status).toBe(403)
    }
  })

  test('a date of 10 minutes ago is accepted', async () => {
    const date = new Date(Date.now() - 600_000)
    expect((await interop.send({ path: 'dbs', date })).status).toBe(200)
  })

  test('403 for a date has no substatus that would make the client look for another region', async () => {
    const date = new Date(Date.now() - 3_600_000)
    const { headers } = await interop.send({ path: 'dbs', date })
    expect(['3', '1008']).not.toContain(headers.get('x-ms-substatus'))
  })

  test('the account itself needs a signature', async () => {
    const response = await fetch(interop.gateway.endpoint)
    expect(response.status).toBe(401)
    await response.text()
  })

  test('names with spaces, percent signs and other letters are signed as they are', async () => {
    const { database } = await interop.client.databases.create({ id: 'Ünï 100% &c' })
    const { container } = await database.containers.create({ id: 'ä b', partitionKey: '/pk' })
    await container.items.create({ id: 'ß % c', pk: 'x' })
    expect((await container.item('ß % c', 'x').read()).statusCode).toBe(200)
    await database.delete()
  })
})

describe('Read-only key', () => {
  test('reads documents, lists, queries and feeds', async () => {
    const made = await interop.container()
    await made.items.create({ id: 'a', pk: 'x' })
    const client = interop.connect({ key: READ_ONLY_KEY })
    const container = client.database('interop').container(made.id)
    expect((await container.item('a', 'x').read()).statusCode).toBe(200)
    expect((await container.items.readAll().fetchAll()).resources).toHaveLength(1)
    expect(
      (await container.items.query('SELECT * FROM c WHERE true').fetchAll()).resources,
    ).toHaveLength(1)
    expect((await container.items.getChangeFeedIterator({}).readNext()).statusCode).toBe(304)
    expect((await container.readOffer()).statusCode).toBe(200)
    expect(await container.getFeedRanges()).toHaveLength(1)
  })

  test('writes nothing: 403 for documents, batches, bulk, containers, databases, offers', async () => {
    const made = await interop.container()
    await made.items.create({ id: 'a', pk: 'x' })
    const client = interop.connect({ key: READ_ONLY_KEY })
    const container = client.database('interop').container(made.id)
    const item = container.item('a', 'x')
    const { resource } = await made.readOffer()
    const offer = client.offer(String((resource as unknown as { id: string }).id))
    const calls: readonly (() => Promise<unknown>)[] = [
      () => container.items.create({ id: 'b', pk: 'x' }),
      () => container.items.upsert({ id: 'a', pk: 'x' }),
      () => item.replace({ id: 'a', pk: 'x' }),
      () => item.patch([{ op: 'set', path: '/n', value: 1 }]),
      () => item.delete(),
      () => container.items.batch([{ operationType: 'Delete', id: 'a' }], 'x'),
      () => container.items.bulk([{ operationType: 'Delete', id: 'a', partitionKey: 'x' }]),
      () => container.deleteAllItemsForPartitionKey('x'),
      () => container.delete(),
      () => client.database('interop').delete(),
      () => client.databases.create({ id: 'new' }),
      () => client.database('interop').containers.create({ id: 'new' }),
      () => offer.replace(resource as never),
    ]
    for (const call of calls) expect((await refusal(call())).code).toBe(403)
    expect((await made.item('a', 'x').read()).resource).toMatchObject({ id: 'a' })
  })

  test('a write that claims to be a query is 403 or no write', async () => {
    const made = await interop.container()
    const { status } = await interop.send({
      method: 'POST',
      path: `${pathOf(made)}/docs`,
      key: READ_ONLY_KEY,
      headers: {
        'x-ms-documentdb-isquery': 'true',
        'x-ms-cosmos-is-batch-request': 'true',
        'x-ms-cosmos-batch-atomic': 'true',
        'x-ms-documentdb-partitionkey': '["x"]',
      },
      body: [{ operationType: 'Create', resourceBody: { id: 'a', pk: 'x' } }],
    })
    expect(status).toBeGreaterThanOrEqual(400)
    expect((await made.items.readAll().fetchAll()).resources).toEqual([])
  })
})
