import { errorCode } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { TEST_KEY, testGateway } from '../server/running-gateway.fixture.ts'
import { CosmosConnection } from './cosmos-connection.ts'
import { CosmosDocumentCollection } from './cosmos-document-collection.ts'
import { systemFetch, type HttpFetch } from './platform/http-fetch.ts'

interface Entry {
  readonly id: string
  readonly pk: string
  readonly open: boolean
}

const NAME = { database: 'db', container: 'c' }
const increment = [{ op: 'incr', path: '/n', value: 1 }] as const
const condition = ({ open }: Entry): boolean => open

/** A collection over HTTP where somebody writes between the judgement of a patch and the patch itself. */
async function overtaken(
  before: Entry | undefined,
  meanwhile: Entry,
  options: { readonly ifMatch?: string } = {},
) {
  await using started = await testGateway()
  await started.container({ id: 'c', partitionKey: '/pk' })
  const own = started.store.database('db').collection<Entry>('c')
  if (before !== undefined) await own.create(before)
  let patches = 0
  const fetch: HttpFetch = async (url, request) => {
    if (request.method === 'PATCH' && patches++ === 0) await own.upsert(meanwhile)
    return systemFetch(url, request)
  }
  const connection = new CosmosConnection({
    endpoint: started.gateway.endpoint,
    key: TEST_KEY,
    fetch,
  })
  const collection = new CosmosDocumentCollection<Entry>(connection, NAME)
  const code = await collection.patch('x', 'a', increment, { condition, ...options }).then(
    () => 'done',
    (error: unknown) => errorCode(error),
  )
  const { document } = await own.read('x', 'a')
  return { code, patches, document }
}

test.each([{}, { ifMatch: '*' }])(
  'a patch is not done on a version that its condition did not see: %j',
  async (options) => {
    const entry = { id: 'x', pk: 'a', open: true }
    const { code, patches, document } = await overtaken(entry, { ...entry, open: false }, options)
    expect({ code, patches }).toEqual({ code: 'ERR_PRECONDITION_FAILED', patches: 1 })
    expect(document).toMatchObject({ open: false })
    expect(document).not.toHaveProperty('n')
    const again = await overtaken(entry, { ...entry }, options)
    expect(again).toMatchObject({ code: 'done', patches: 2, document: { n: 1 } })
  },
)

test('a patch under a condition is not sent for a document that was not there', async () => {
  const made = { id: 'x', pk: 'a', open: false }
  const { code, patches } = await overtaken(undefined, made)
  expect({ code, patches }).toEqual({ code: 'ERR_NOT_FOUND', patches: 0 })
})
