import { murmur3x86 } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { send } from './raw-request.fixture.ts'
import { testGateway, type TestGateway } from './running-gateway.fixture.ts'

const DOCS = '/dbs/db/colls/c/docs'
const KEY = { [HEADER.partitionKey]: '["x"]' }
const QUERY = { [HEADER.isQuery]: 'true', 'content-type': 'application/query+json' }
/** Of fewer bytes than all headers may have together by default, and of more levels than the stack has room for. */
const [LISTS, OBJECTS] = [nested('[', ']', 13_000), nested('{"a":', '}', 4_000)]
const SIGNED: ReadonlySet<string> = new Set([HEADER.authorization, HEADER.date, HEADER.msDate])

function nested(open: string, close: string, levels: number): string {
  return `${open.repeat(levels)}1${close.repeat(levels)}`
}

async function gatewayWithDocument(): Promise<TestGateway> {
  // With more room for headers than the default: a continuation has the position as base64.
  const started = await testGateway({ maxHeaderBytes: 128 * 1024 })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  await container.items.create({ id: 'a', pk: 'x' })
  return started
}

const REQUESTS = [
  { what: 'a read', method: 'GET', target: `${DOCS}/a`, headers: KEY, body: undefined },
  { what: 'a list', method: 'GET', target: DOCS, headers: {}, body: undefined },
  {
    what: 'a feed',
    method: 'GET',
    target: DOCS,
    headers: { [HEADER.aIm]: 'Incremental feed' },
    body: undefined,
  },
  {
    what: 'pkranges',
    method: 'GET',
    target: '/dbs/db/colls/c/pkranges',
    headers: {},
    body: undefined,
  },
  {
    what: 'a query',
    method: 'POST',
    target: DOCS,
    headers: QUERY,
    body: { query: 'SELECT * FROM c' },
  },
  { what: 'a create', method: 'POST', target: DOCS, headers: KEY, body: { id: 'b', pk: 'x' } },
  {
    what: 'a batch',
    method: 'POST',
    target: DOCS,
    headers: { ...KEY, [HEADER.isBatch]: 'true' },
    body: [],
  },
  {
    what: 'a container',
    method: 'POST',
    target: '/dbs/db/colls',
    headers: {},
    body: { id: 'd', partitionKey: { paths: ['/pk'] } },
  },
  {
    what: 'a call',
    method: 'GET',
    target: '/dbs/db/colls/c/operations/tidemark',
    headers: {},
    body: undefined,
  },
] as const

test.each(REQUESTS)(
  '$what with any header that is nested without end is no failure of ours',
  async ({ method, target, headers, body }) => {
    await using started = await gatewayWithDocument()
    const names = [...Object.values(HEADER), ...Object.values(OWN_HEADER)].filter(
      (name) => !SIGNED.has(name),
    )
    for (const name of names) {
      for (const value of [LISTS, `[${OBJECTS}]`]) {
        const answer = await send(started.gateway.endpoint, method, target, {
          headers: { ...headers, [name]: value },
          body,
        })
        expect({ name, status: answer.status }).not.toMatchObject({ status: 500 })
      }
    }
    expect(started.failures).toEqual([])
  },
)

test.each([LISTS, OBJECTS, `[${LISTS}]`, `[${OBJECTS}]`, `["x",${LISTS}]`])(
  'a partition key that is nested without end is 400: %.8s',
  async (value) => {
    await using started = await gatewayWithDocument()
    const headers = { [HEADER.partitionKey]: value }
    const answer = await send(started.gateway.endpoint, 'GET', `${DOCS}/a`, { headers })
    expect(answer).toMatchObject({ status: 400, json: { code: 'BadRequest' } })
    expect(String(Reflect.get(answer.json as object, 'message')).length).toBeLessThan(500)
  },
)

/** As the store makes them, checksum and all: everybody can. */
function forgedToken(token: string, position: string): string {
  const [list, rid, scope] = token.split(';')
  const text = [list, rid, scope, Buffer.from(position).toString('base64url')].join(';')
  return `${text};${murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')}`
}

test.each([
  LISTS,
  `[${LISTS},"a","b"]`,
  `["a",${LISTS},"b"]`,
  `["a","b",${LISTS}]`,
  `[${LISTS},"a"]`,
])('a continuation whose position is nested without end is 400: %.8s', async (position) => {
  await using started = await gatewayWithDocument()
  const { endpoint } = started.gateway
  await send(endpoint, 'POST', DOCS, { headers: KEY, body: { id: 'b', pk: 'x' } })
  const first = await send(endpoint, 'GET', DOCS, { headers: { [HEADER.maxItemCount]: '1' } })
  const token = first.headers.get(HEADER.continuation) ?? ''
  const headers = { [HEADER.continuation]: forgedToken(token, position) }
  expect(await send(endpoint, 'GET', DOCS, { headers })).toMatchObject({ status: 400 })
  expect(started.failures).toEqual([])
})
