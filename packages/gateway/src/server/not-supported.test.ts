import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { NOT_SUPPORTED } from '../errors/not-supported.ts'
import { send } from './raw-request.fixture.ts'
import { testGateway } from './running-gateway.fixture.ts'

const DOCUMENT = new URL('../../../../docs/gateway.md', import.meta.url)

/** A request as method and path, or a query's text. */
type Attempt = readonly [
  method: string,
  path: string,
  headers?: Record<string, string>,
  body?: Uint8Array,
]

const COLL = '/dbs/db/colls/c'
const KEY = { 'x-ms-documentdb-partitionkey': '["a"]' }

/** What somebody would send to use it. */
const ATTEMPTS: Readonly<Record<keyof typeof NOT_SUPPORTED, readonly (Attempt | string)[]>> = {
  storedProcedures: [
    ['POST', `${COLL}/sprocs`],
    ['POST', `${COLL}/sprocs/run`],
    ['PUT', `${COLL}/sprocs/run`],
  ],
  triggers: [
    ['POST', `${COLL}/triggers`],
    ['PUT', `${COLL}/triggers/t`],
    ['POST', `${COLL}/docs`, { ...KEY, 'x-ms-documentdb-pre-trigger-include': 't' }],
    ['PUT', `${COLL}/docs/x`, { ...KEY, 'x-ms-documentdb-post-trigger-include': 't' }],
    ['DELETE', `${COLL}/docs/x`, { ...KEY, 'x-ms-documentdb-pre-trigger-include': 't' }],
  ],
  userDefinedFunctions: [
    ['POST', `${COLL}/udfs`],
    ['PUT', `${COLL}/udfs/f`],
    'SELECT VALUE udf.f(c.n) FROM c',
  ],
  conflicts: [['PUT', `${COLL}/conflicts/x`]],
  users: [
    ['POST', '/dbs/db/users'],
    ['GET', '/dbs/db/users'],
    ['GET', '/dbs/db/users/u'],
  ],
  permissions: [
    ['POST', '/dbs/db/users/u/permissions'],
    ['GET', '/dbs/db/users/u/permissions/p'],
  ],
  clientEncryptionKeys: [['POST', '/dbs/db/clientencryptionkeys']],
  attachments: [['GET', `${COLL}/docs/x/attachments`]],
  vectorSearch: ['SELECT TOP 3 c.id FROM c ORDER BY VectorDistance(c.v, [1, 2])'],
  fullTextSearch: [
    'SELECT * FROM c WHERE FullTextContains(c.t, "x")',
    'SELECT * FROM c ORDER BY RANK FullTextScore(c.t, "x")',
    'SELECT * FROM c ORDER BY RANK RRF(FullTextScore(c.t, "x"), VectorDistance(c.v, [1]))',
  ],
  spatial: [
    'SELECT * FROM c WHERE ST_DISTANCE(c.p, {"type":"Point","coordinates":[1,2]}) < 5',
    'SELECT VALUE ST_WITHIN(c.p, c.q) FROM c',
  ],
  binaryBodies: [
    [
      'POST',
      `${COLL}/docs`,
      { ...KEY, 'x-ms-cosmos-is-batch-request': 'True', 'x-ms-cosmos-batch-atomic': 'True' },
      // The segment that HybridRow begins a stream of records with.
      Uint8Array.of(0x81, 0xdc, 0xd8, 0xff, 0x7f, 0x00),
    ],
  ],
  // Signed over what the addresses are of.
  directMode: [
    ['GET', '//addresses/?$resolveFor=dbs%2fdb%2fcolls%2fc%2fdocs&$partitionKeyRangeIds=0'],
    ['GET', '/addresses/', { authorization: 'type%3Dmaster%26ver%3D1.0%26sig%3Dother' }],
  ],
  regularExpressions: ['SELECT * FROM c WHERE RegexMatch(c.t, "a+")'],
}

test('what is out is refused with its name, its way around and a code', async () => {
  await using gateway = await testGateway()
  await gateway.container({ id: 'c', partitionKey: '/pk' })
  const { endpoint } = gateway.gateway
  for (const [name, { what, instead }] of Object.entries(NOT_SUPPORTED)) {
    const attempts = ATTEMPTS[name as keyof typeof NOT_SUPPORTED]
    expect(attempts.length).toBeGreaterThan(0)
    for (const attempt of attempts) {
      const isQuery = typeof attempt === 'string'
      const answer = isQuery
        ? await send(endpoint, 'POST', `${COLL}/docs`, {
            headers: { 'content-type': 'application/query+json' },
            body: { query: attempt },
          })
        : await send(endpoint, attempt[0], attempt[1], {
            headers: attempt[2] ?? {},
            ...(attempt[0] !== 'GET' && { body: attempt[3] ?? { id: 'x', pk: 'a' } }),
          })
      const { message } = answer.json as { message: string }
      expect([attempt, answer.status]).toEqual([attempt, 400])
      expect(message).toContain(`${what} are not supported`)
      expect(message).toContain(instead)
      expect(answer.headers.get('x-tidemark-error')).toBe(
        isQuery ? 'ERR_BAD_QUERY' : 'ERR_UNSUPPORTED_REQUEST',
      )
    }
  }
})

test('docs/gateway.md has one row for each of them, in the words of the messages', async () => {
  const text = await readFile(DOCUMENT, 'utf8')
  const [, section = ''] = text.split('\n## What is out\n')
  const [table = ''] = section.split('\n\nLists of scripts')
  const rows = [...table.matchAll(/^\| (.+?) +\| (.+?) +\|$/gm)].slice(1)
  expect(rows.map(([, what = '', instead = '']) => [what, instead.replaceAll('`', '')])).toEqual(
    Object.values(NOT_SUPPORTED).map(({ what, instead }) => [what, instead]),
  )
})
