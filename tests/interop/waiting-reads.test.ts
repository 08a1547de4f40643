import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container()
})
afterAll(() => interop.close())

/** A read of the feed that waits for the next change. */
async function wait(waitMs: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await interop.send({
    path: `${pathOf(container)}/docs`,
    headers: {
      'a-im': 'Incremental Feed',
      'if-none-match': '*',
      'x-tidemark-wait-ms': waitMs,
      ...headers,
    },
  })
  const documents = (answer.json?.['Documents'] ?? []) as readonly { readonly id: string }[]
  return {
    status: answer.status,
    ids: documents.map(({ id }) => id),
    etag: answer.headers.get('etag'),
  }
}

describe('Waiting reads', () => {
  test('CF-12 a change that comes while a read waits is its answer', async () => {
    const waiting = wait('20000')
    await container.items.create({ id: 'a', pk: 'x' })
    // Written before the read had begun to wait, it would be before "now".
    const writing = async (): Promise<void> => {
      for (let n = 0; !isOver; n++) await container.items.upsert({ id: 'a', pk: 'x', n })
    }
    let isOver = false
    const writer = writing()
    const { status, ids } = await waiting
    isOver = true
    await writer
    expect([status, ids]).toEqual([200, ['a']])
  })

  test('CF-12 without a change it is 304 when the time is over, with the position', async () => {
    const { status, etag } = await wait('50')
    expect([status, etag]).toEqual([304, '"0"'])
  })

  test('what is there already is answered at once', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const { status, ids } = await wait('20000', { 'if-none-match': '"0"' })
    expect([status, ids]).toEqual([200, ['a']])
  })

  test('a change of another partition key does not end the wait', async () => {
    const waiting = wait('300', { 'x-ms-documentdb-partitionkey': '["x"]' })
    await container.items.create({ id: 'a', pk: 'y' })
    expect((await waiting).status).toBe(304)
  })

  test.each(['-1', 'long', '1.5'])('a wait of %s is 400', async (waitMs) => {
    expect((await wait(waitMs)).status).toBe(400)
  })

  test('without the header a read is answered at once', async () => {
    const { headers } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: { 'a-im': 'Incremental Feed', 'if-none-match': '*' },
    })
    expect(headers.get('etag')).toBe('"0"')
  })
})
