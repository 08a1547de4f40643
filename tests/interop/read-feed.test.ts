import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, pagesOf, pathOf, sortedIds, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
const COUNT = 25
const ALL = Array.from({ length: COUNT }, (_, n) => `d${n}`).toSorted()

beforeAll(async () => {
  interop = await openInterop()
  container = await interop.container({ throughput: 25_100 })
  for (let n = 0; n < COUNT; n++) await container.items.create({ id: `d${n}`, pk: `p${n % 5}`, n })
})
afterAll(() => interop.close())

interface Page {
  readonly ids: readonly string[]
  readonly continuation: string | undefined
  readonly count: number
}

async function readPage(headers: Readonly<Record<string, string>> = {}): Promise<Page> {
  const answer = await interop.send({ path: `${pathOf(container)}/docs`, headers })
  expect(answer.status).toBe(200)
  const documents = answer.json?.['Documents'] as readonly { readonly id: string }[]
  expect(answer.json?.['_count']).toBe(documents.length)
  expect(answer.headers.get('x-ms-item-count')).toBe(String(documents.length))
  return {
    ids: documents.map(({ id }) => id),
    continuation: answer.headers.get('x-ms-continuation') ?? undefined,
    count: documents.length,
  }
}

/** All pages, by continuation. */
async function readAll(headers: Readonly<Record<string, string>>): Promise<readonly Page[]> {
  const pages = [await readPage(headers)]
  for (;;) {
    const continuation = pages.at(-1)?.continuation
    if (continuation === undefined) return pages
    pages.push(await readPage({ ...headers, 'x-ms-continuation': continuation }))
  }
}

describe('ReadDocumentFeed', () => {
  test('ST-8 gives every document of all ranges', async () => {
    const pages = await readAll({})
    expect(pages.flatMap(({ ids }) => ids).toSorted()).toEqual(ALL)
  })

  test('ST-8 pages by max item count, each document once, no token on the last page', async () => {
    const pages = await readAll({ 'x-ms-max-item-count': '4' })
    expect(pages.every(({ count }) => count <= 4)).toBe(true)
    expect(pages.length).toBeGreaterThanOrEqual(Math.ceil(COUNT / 4))
    expect(pages.flatMap(({ ids }) => ids).toSorted()).toEqual(ALL)
  })

  test('ST-8 max item count -1 is the choice of the gateway', async () => {
    expect((await readPage({ 'x-ms-max-item-count': '-1' })).count).toBe(COUNT)
  })

  test.each(['0', '-2', 'ten', '1.5'])('max item count %s is 400', async (count) => {
    const { status } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: { 'x-ms-max-item-count': count },
    })
    expect(status).toBe(400)
  })

  test('a continuation that cannot be read is 400', async () => {
    const { status } = await interop.send({
      path: `${pathOf(container)}/docs`,
      headers: { 'x-ms-continuation': 'nonsense' },
    })
    expect(status).toBe(400)
  })

  test('by partition key: the documents of one value', async () => {
    const { ids } = await readPage({ 'x-ms-documentdb-partitionkey': '["p1"]' })
    expect(ids.toSorted()).toEqual(['d1', 'd11', 'd16', 'd21', 'd6'])
  })

  test('by pkrange: the parts of all ranges make the whole', async () => {
    const ids: string[] = []
    for (const id of ['0', '1', '2']) {
      ids.push(...(await readPage({ 'x-ms-documentdb-partitionkeyrangeid': id })).ids)
    }
    expect(ids.toSorted()).toEqual(ALL)
  })

  test('by EPK headers: two halves make the whole', async () => {
    const half = '20000000000000000000000000000000'
    const low = await readPage({ 'x-ms-start-epk': '', 'x-ms-end-epk': half })
    const high = await readPage({ 'x-ms-start-epk': half, 'x-ms-end-epk': 'FF' })
    expect([...low.ids, ...high.ids].toSorted()).toEqual(ALL)
    expect(low.count * high.count).toBeGreaterThan(0)
  })

  test('an unknown A-IM value is a plain feed', async () => {
    expect((await readPage({ 'a-im': 'Something else' })).count).toBe(COUNT)
  })

  test('documents are as a point read gives them', async () => {
    const { json } = await interop.send({ path: `${pathOf(container)}/docs` })
    const [first] = (json?.['Documents'] ?? []) as readonly { id: string; pk: string }[]
    const { resource } = await container.item(first?.id ?? '', first?.pk).read()
    expect(resource).toEqual(first)
  })

  test('an empty container gives an empty list', async () => {
    const empty = await interop.container()
    const { json } = await interop.send({ path: `${pathOf(empty)}/docs` })
    expect(json).toMatchObject({ _count: 0, Documents: [] })
  })
})

describe('items.readAll', () => {
  test('gives every document', async () => {
    const { resources } = await container.items.readAll().fetchAll()
    expect(sortedIds(resources)).toEqual(ALL)
  })

  test('pages by max item count', async () => {
    const { sizes, items } = await pagesOf(container.items.readAll({ maxItemCount: 7 }))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(7)
    expect(sortedIds(items)).toEqual(ALL)
  })

  test('is an async iterable of pages', async () => {
    const ids: string[] = []
    for await (const { resources } of container.items
      .readAll({ maxItemCount: 9 })
      .getAsyncIterator()) {
      ids.push(...sortedIds(resources))
    }
    expect(ids.toSorted()).toEqual(ALL)
  })

  test('of an empty container is empty', async () => {
    const empty = await interop.container()
    expect((await empty.items.readAll().fetchAll()).resources).toEqual([])
  })
})
