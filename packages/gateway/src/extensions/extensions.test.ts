import { Collection } from '@tidemark/store'
import { expect, test, vi } from 'vitest'
import { OWN_HEADER, asciiJson } from '../protocol/extension-wire.ts'
import { send } from '../server/raw-request.fixture.ts'
import { TEST_KEY, testGateway, type TestGateway } from '../server/running-gateway.fixture.ts'

const READ_ONLY_KEY = Buffer.from('a key that may only read, really').toString('base64')
const PATH = '/dbs/db/colls/c/operations/tidemark'
const FULL = { minInclusive: '', maxExclusive: 'FF' }
const mode = 'latestVersion'
const ATOMIC_BATCH = {
  'x-ms-cosmos-is-batch-request': 'true',
  'x-ms-cosmos-batch-atomic': 'true',
}

async function call(
  { gateway }: TestGateway,
  value: unknown,
  headers: Record<string, string> = {},
): ReturnType<typeof send> {
  const own = { [OWN_HEADER.call]: asciiJson(value), ...headers }
  return send(gateway.endpoint, 'GET', PATH, { headers: own })
}

test('TTL-12 TTL-13 a page has the rows of the store: kind, instant and text of each', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk', defaultTtl: -1 })
  await container.items.create({ id: 'a', pk: 'x', ttl: 1000 })
  const { resource } = await container.items.create({ id: 'b', pk: 'ü' })
  const start = { call: 'resolveStart', range: FULL, start: 'beginning', mode }
  const position = (await call(started, start)).json as { continuation: string }
  const response = await call(started, { call: 'readPage', range: FULL, mode, ...position })
  const page = response.json as { rows: unknown[][]; texts: unknown[] }
  expect(page).toMatchObject({ kind: 'documents', caughtUp: true, lsn: 2 })
  expect(page.rows.map(([lsn, kind]) => [lsn, kind])).toEqual([
    [1, 0],
    [2, 0],
  ])
  expect(page.rows[0]?.[3]).toBeGreaterThan(Date.now() / 1000)
  const body = '{"id":"b","pk":"ü"}'
  const ownRid = resource?._rid.slice(10, -2)
  const row = [2, 0, body.length, 0, resource?._ts, '["ü"]', 'b', ownRid, null, null, null]
  expect(page.rows[1]).toEqual(row)
  expect(page.texts[1]).toEqual(JSON.parse(body))
  expect(started.failures).toEqual([])
})

test('a call that makes no sense is 400 and says which member is wrong', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{ call: 'drop' }, /no call "drop"/],
    [[], /JSON object/],
    [{ call: 'readPage', mode, continuation: '' }, /"range"/],
    [
      { call: 'readPage', mode, continuation: '', range: { ...FULL, minInclusive: 'zz' } },
      /"range"/,
    ],
    [{ call: 'readPage', mode: 'both', continuation: '', range: FULL }, /"mode"/],
    [{ call: 'readPage', mode, continuation: 7, range: FULL }, /"continuation"/],
    [{ call: 'readPage', mode, continuation: 'x', range: FULL }, /malformed/],
    [{ call: 'resolveStart', mode, range: FULL, start: 'soon' }, /"start"/],
    [{ call: 'resolveStart', mode, range: FULL, start: '7' }, /"start"/],
    [{ call: 'positionAt', mode, range: FULL, lsn: -1 }, /"lsn"/],
    [{ call: 'waitForChanges', mode, range: FULL, continuation: '' }, /"timeoutMs"/],
    [{ call: 'awaitPage', mode, range: FULL, continuation: '' }, /"timeoutMs"/],
    [{ call: 'awaitPage', mode, range: FULL, timeoutMs: 1 }, /"continuation"/],
    [{ call: 'joinPositions', mode, positions: {} }, /"positions"/],
    [{ call: 'readPartition', partitionKey: 'x' }, /not JSON/],
  ]
  for (const [value, message] of wrong) {
    const response = await call(started, value)
    expect(response.status).toBe(400)
    expect((response.json as { message: string }).message).toMatch(message)
    expect(response.headers.get(OWN_HEADER.errorCode)).toMatch(/^ERR_/)
  }
  const none = await send(started.gateway.endpoint, 'GET', PATH)
  expect(none.status).toBe(400)
  expect(started.failures).toEqual([])
})

test('a key that may only read asks, reports no positions, and has nothing written to disk', async () => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  const headers = { [OWN_HEADER.call]: asciiJson({ call: 'readPositions', group: 'g' }) }
  const key = READ_ONLY_KEY
  expect((await send(endpoint, 'GET', PATH, { key, headers })).status).toBe(200)
  const query = { 'x-ms-documentdb-isquery': 'true' }
  for (const body of [{ positions: [{ group: 'g', range: FULL, lsn: 0 }] }, { flush: true }]) {
    for (const disguise of [{}, query]) {
      const order = { key, body, headers: disguise }
      expect((await send(endpoint, 'POST', PATH, order)).status).toBe(403)
    }
    expect((await send(endpoint, 'POST', PATH, { body })).status).toBe(204)
  }
})

test.each([{ flush: false }, { flush: true, positions: [] }, { flush: null }, {}, []])(
  'an order that makes no sense is 400: %j',
  async (body) => {
    await using started = await testGateway()
    await started.container({ id: 'c', partitionKey: '/pk' })
    const response = await send(started.gateway.endpoint, 'POST', PATH, { body })
    expect(response.status).toBe(400)
    expect(started.failures).toEqual([])
  },
)

test('a batch may say whether it waits for the disk, in two words only', async () => {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY_KEY] }
  await using started = await testGateway({ keys })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const batch = vi.spyOn(Collection.prototype, 'batch')
  const body = [{ operationType: 'Upsert', resourceBody: { id: 'a', pk: 'x' } }]
  const post = (sync: string, key: string = TEST_KEY) => {
    const own = { [OWN_HEADER.sync]: sync }
    const headers = { ...own, ...ATOMIC_BATCH, 'x-ms-documentdb-partitionkey': '["x"]' }
    return send(started.gateway.endpoint, 'POST', '/dbs/db/colls/c/docs', { key, headers, body })
  }
  for (const malformed of ['False', '0', 'no', 'false,false']) {
    const response = await post(malformed)
    expect(response.status).toBe(400)
    expect(response.json).toMatchObject({ message: expect.stringContaining(OWN_HEADER.sync) })
  }
  expect((await post('false', READ_ONLY_KEY)).status).toBe(403)
  expect(batch).not.toHaveBeenCalled()
  for (const sync of [true, false]) {
    expect((await post(String(sync))).status).toBe(200)
    expect(batch.mock.lastCall?.[2]).toMatchObject({ sync })
  }
  batch.mockRestore()
})

test('CF-12 a gateway that stops answers those who wait that nothing has come', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const start = { call: 'resolveStart', range: FULL, start: 'now', mode }
  const { continuation } = (await call(started, start)).json as { continuation: string }
  const wait = { call: 'waitForChanges', range: FULL, mode, continuation, timeoutMs: 25_000 }
  const waiting = call(started, wait)
  // Served before the gateway stops, as all that is on a connection already.
  await call(started, start)
  await started.gateway.stop()
  expect((await waiting).json).toBe(false)
})

test('of a container that was meant and is gone, another of its name is not taken', async () => {
  await using started = await testGateway()
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  const { resource } = await container.read()
  const intended = { 'x-ms-cosmos-intended-collection-rid': String(resource?._rid) }
  const { endpoint } = started.gateway
  const listed = () => send(endpoint, 'GET', '/dbs/db/colls/c/docs', { headers: intended })
  expect((await listed()).status).toBe(200)
  await container.delete()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const gone = await listed()
  expect(gone.status).toBe(400)
  expect(gone.headers.get(OWN_HEADER.errorCode)).toBe('ERR_OTHER_CONTAINER')
})
