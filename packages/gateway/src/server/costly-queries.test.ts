import { systemClock } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { TEST_KEY, testGateway, type TestGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const READ_ONLY = 'cmVhZCByZWFkIHJlYWQgcmVhZA=='
const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["x"]' }
const DEEP = '['.repeat(100_000) + ']'.repeat(100_000)

const LIST = `[${Array.from({ length: 40 }, (_, n) => n).join(',')}]`
const LONG = `REPLACE(REPLICATE('x',10000),'x',REPLICATE('y',400))`
const BOMB = `SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE UPPER(${LONG}) FROM a IN ${LIST} JOIN b IN ${LIST}))`
/** 1 KB that would take days. */
const ENDLESS = `SELECT VALUE COUNT(1) FROM c ${['p', 'q', 'r', 's', 't', 'u', 'v'].map((name) => `JOIN ${name} IN ${LIST}`).join(' ')}`

type Options = NonNullable<Parameters<typeof testGateway>[0]>

async function served(options: Options = {}): Promise<TestGateway> {
  const keys = { readWrite: [TEST_KEY], readOnly: [READ_ONLY] }
  const started = await testGateway({ keys, ...options })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x', text: 'a'.repeat(100_000) })
  return started
}

/** A query with the key that may only read. */
function query(
  { gateway }: TestGateway,
  text: string,
  {
    target = DOCS,
    deep = '',
    signal,
  }: {
    readonly target?: string
    readonly deep?: string
    readonly signal?: AbortSignal
  } = {},
): ReturnType<typeof send> {
  const parameters = deep === '' ? '' : `,"parameters":[{"name":"@deep","value":${deep}}]`
  return send(gateway.endpoint, 'POST', target, {
    key: READ_ONLY,
    signal,
    headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' },
    body: `{"query":${JSON.stringify(text)}${parameters}}`,
  })
}

test('others are served in the midst of the rows of one document, and a stop ends them', async () => {
  await using started = await served({ stopTimeoutMs: 50, requestTimeoutMs: 600_000 })
  const answers: string[] = []
  const costly = query(started, ENDLESS).then(
    ({ status }) => status,
    () => 'closed',
  )
  const ended = costly.then(() => answers.push('costly'))
  for (let n = 0; n < 5; n++) {
    const read = await send(started.gateway.endpoint, 'GET', `${DOCS}/a`, { headers: KEY_HEADER })
    expect(read.status).toBe(200)
    answers.push('read')
  }
  await started.gateway.stop()
  await ended
  expect([503, 'closed']).toContain(await costly)
  expect(answers).toEqual(['read', 'read', 'read', 'read', 'read', 'costly'])
  expect(started.failures).toEqual([])
})

test('queries that hold much together are 429, small ones are served, and what ended is given back', async () => {
  await using started = await served({
    queryLimits: { maxHeldChars: 1_500_000 },
    maxClientShare: 1,
    requestTimeoutMs: 600_000,
  })
  const kept = `FROM c JOIN (SELECT VALUE UPPER(c.text) FROM n IN [1,2,3,4,5,6,7,8,9,10]) kept`
  const statusOfLarge = async (): Promise<number> =>
    (await query(started, `SELECT VALUE COUNT(1) ${kept}`)).status
  const client = new AbortController()
  const { signal } = client
  let endless: Promise<unknown> | undefined
  const begin = (): void => {
    const begun = query(started, ENDLESS.replace('FROM c', kept), { signal })
    endless = begun
    begun.catch(() => undefined).finally(() => (signal.aborted ? undefined : (endless = undefined)))
  }
  // Of two that begin together, either may be the one that is refused.
  await expect
    .poll(() => {
      if (endless === undefined) begin()
      return statusOfLarge()
    })
    .toBe(429)
  expect((await query(started, 'SELECT * FROM c')).status).toBe(200)
  client.abort()
  await expect(endless).rejects.toThrow()
  await expect.poll(statusOfLarge).toBe(200)
  expect(started.failures).toEqual([])
})

test('the time for a request ends a costly query', async () => {
  await using started = await served({ requestTimeoutMs: 300 })
  expect((await query(started, ENDLESS)).status).toBe(408)
  expect(started.failures).toEqual([])
})

test.each([
  ['texts that fill the memory', BOMB, {}],
  ['the same over a list of resources', BOMB, { target: '/dbs' }],
  [
    'a pattern that is sought at each place',
    `SELECT * FROM c WHERE c.text LIKE '%${'a'.repeat(900)}c%'`,
    {},
  ],
])('%s are 400, and the limit is named', async (_name, text, options) => {
  await using started = await served()
  const answer = await query(started, text, options)
  expect(answer).toMatchObject({
    status: 400,
    json: { code: 'BadRequest', message: expect.stringContaining('maxRowSteps') },
  })
  expect(started.failures).toEqual([])
})

test.each([
  ['an aggregate', `SELECT COUNT(1) AS n, StringToArray(@deep) AS x FROM c`, JSON.stringify(DEEP)],
  ['a row', `SELECT VALUE StringToArray(@deep) FROM c`, JSON.stringify(DEEP)],
  ['a group', `SELECT c.pk, StringToArray(@deep) AS x FROM c GROUP BY c.pk`, JSON.stringify(DEEP)],
  ['an order', `SELECT c.pk FROM c ORDER BY StringToArray(@deep)`, JSON.stringify(DEEP)],
  ['a parameter', `SELECT VALUE @deep FROM c`, DEEP],
  ['a parameter that is compared', `SELECT VALUE COUNT(1) FROM c WHERE c.text = @deep`, DEEP],
  ['a number of rows', `SELECT TOP @deep * FROM c`, DEEP],
  ['an escape', `SELECT * FROM c WHERE c.text LIKE 'a' ESCAPE @deep`, DEEP],
])('%s that is nested too deeply is 400', async (_name, text, deep) => {
  await using started = await served()
  const answer = await query(started, text, { deep })
  expect(answer).toMatchObject({ status: 400, json: { code: 'BadRequest' } })
  expect(JSON.stringify(answer.json).length).toBeLessThan(1000)
  expect(started.failures).toEqual([])
})

test('the conditions of a patch and of a batch are bounded as queries are', async () => {
  await using started = await served()
  const { endpoint } = started.gateway
  const condition = `from c ${['p', 'q', 'r', 's'].map((name) => `join ${name} in ${LIST}`).join(' ')} where p < 0`
  const patch = { condition, operations: [{ op: 'set', path: '/seen', value: true }] }
  const alone = await send(endpoint, 'PATCH', `${DOCS}/a`, { headers: KEY_HEADER, body: patch })
  expect(alone).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining('maxRowSteps') },
  })
  const operation = { operationType: 'Patch', id: 'a', resourceBody: patch }
  const batch = await send(endpoint, 'POST', DOCS, {
    headers: {
      ...KEY_HEADER,
      'x-ms-cosmos-is-batch-request': 'true',
      'x-ms-cosmos-batch-atomic': 'true',
    },
    body: [operation],
  })
  expect(batch).toMatchObject({ status: 207, json: [{ statusCode: 400 }] })
  expect(started.failures).toEqual([])
})

test('long texts of queries are read in time that grows with their length', async () => {
  await using started = await served()
  const path = `c${'.a'.repeat(100_000)}`
  for (const text of [
    `SELECT DISTINCT c.x FROM c ORDER BY ${path}`,
    `SELECT COUNT(1) AS n, ${path} AS x FROM c GROUP BY c.b`,
    `SELECT VALUE 1 FROM c ${Array.from({ length: 20_000 }, (_, n) => `JOIN a${n} IN c.x`).join(' ')}`,
    `SELECT ${Array.from({ length: 20_000 }, (_, n) => `c.a${n}`).join()} FROM c ORDER BY ${Array.from({ length: 20_000 }, (_, n) => `a${n}`).join()}`,
  ]) {
    expect((await query(started, text)).status).toBe(400)
  }
})

test('a query that is refused is charged for what it computed', async () => {
  const clock = { ...systemClock, monotonicMs: () => 0 }
  await using started = await served({ requestUnitsPerRange: 520, clock })
  expect((await query(started, BOMB)).status).toBe(400)
  let status = 400
  for (let n = 0; n < 20 && status === 400; n++) status = (await query(started, BOMB)).status
  expect(status).toBe(429)
})

test('limits are options, and what a query computes is charged', async () => {
  await using started = await served({ queryLimits: { maxRowSteps: 20_000_000 } })
  const text = `SELECT VALUE (SELECT VALUE COUNT(1) FROM p IN ${LIST} JOIN q IN ${LIST} JOIN r IN ${LIST} JOIN s IN [1,2,3,4]) FROM c`
  const answer = await query(started, text)
  expect(answer).toMatchObject({ status: 200, json: { Documents: [256_000] } })
  expect(Number(answer.headers.get('x-ms-request-charge'))).toBeGreaterThan(3)
  const plain = await query(started, 'SELECT VALUE 1 FROM c')
  expect(Number(plain.headers.get('x-ms-request-charge'))).toBeLessThan(2)
  const wrong = testGateway({ queryLimits: { maxPageSteps: 0 } })
  await expect(wrong).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    message: expect.stringContaining('queryLimits.maxPageSteps'),
  })
})
