import { expect, test } from 'vitest'
import { send, signedHeaders } from './raw-request.fixture.ts'
import { testGateway, type TestGateway } from './running-gateway.fixture.ts'

/** As many as a container may be made with: it would take minutes. */
const MOST_UNITS = 100_000_000

async function offerPath({ client }: TestGateway): Promise<string> {
  const { resources } = await client.offers.readAll().fetchAll()
  return `/offers/${resources[0]?.id ?? ''}`
}

function offerOf(units: number): object {
  return { content: { offerThroughput: units } }
}

async function rangesOf({ store }: TestGateway): Promise<number> {
  const { ranges } = await store.database('db').collection('c').readPartitionKeyRanges()
  return ranges.length
}

test.each([
  ['throughput', offerOf(1e12)],
  ['throughput', offerOf(MOST_UNITS + 100)],
  ['autoscale', { content: { offerAutopilotSettings: { maxThroughput: 1e12 } } }],
  ['an infinite one', '{"content":{"offerThroughput":1e999}}'],
  ['a text', { content: { offerThroughput: '9'.repeat(100_000) } }],
])('an offer beyond what a container may be made with is 400: %s', async (_what, body) => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  const answer = await send(endpoint, 'PUT', await offerPath(started), { body })
  expect(answer).toMatchObject({ status: 400, json: { code: 'BadRequest' } })
  expect(JSON.stringify(answer.json).length).toBeLessThan(1000)
  expect(await rangesOf(started)).toBe(1)
})

test('creation has the same bound: of containers and databases, fixed and autoscale', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = started.gateway
  const container = { id: 'd', partitionKey: { paths: ['/pk'] } }
  for (const [name, value] of [
    ['x-ms-offer-throughput', String(MOST_UNITS + 100)],
    ['x-ms-cosmos-offer-autopilot-settings', `{"maxThroughput":${MOST_UNITS + 100}}`],
  ] as const) {
    const headers = { [name]: value }
    for (const [path, body] of [
      ['/dbs/db/colls', container],
      ['/dbs', { id: 'd' }],
    ] as const) {
      expect((await send(endpoint, 'POST', path, { headers, body })).status).toBe(400)
    }
  }
})

test('an offer that is growing ends with the gateway, with 503', async () => {
  await using started = await testGateway({ stopTimeoutMs: 60_000 })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const path = await offerPath(started)
  const stopped = Promise.withResolvers<void>()
  let splits = 0
  started.store.events.on('rangeSplit', () => {
    if (++splits === 3) stopped.resolve(started.gateway.stop())
  })
  const growing = send(started.gateway.endpoint, 'PUT', path, { body: offerOf(MOST_UNITS) })
  expect((await growing).status).toBe(503)
  await stopped.promise
  expect(await rangesOf(started)).toBe(splits + 1)
  expect(splits).toBeLessThan(100)
})

test('an offer that is growing ends with its client', async () => {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const path = await offerPath(started)
  const client = new AbortController()
  let splits = 0
  started.store.events.on('rangeSplit', () => {
    if (++splits === 3) client.abort()
  })
  const growing = fetch(new URL(path, started.gateway.endpoint), {
    method: 'PUT',
    headers: signedHeaders('PUT', path),
    body: JSON.stringify(offerOf(MOST_UNITS)),
    signal: client.signal,
  })
  await expect(growing).rejects.toThrow()
  let before = 0
  await expect
    .poll(() => {
      const isOver = splits === before
      before = splits
      return isOver
    })
    .toBe(true)
  expect(splits).toBeLessThan(1000)
})
