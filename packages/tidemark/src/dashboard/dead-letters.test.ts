import { FULL_RANGE, lsn } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { openDeadLetters } from '../index.ts'
import { ORDERS, write } from './mirrored-orders.fixture.ts'
import { OpenedPage } from './opened-page.fixture.ts'

async function put(page: OpenedPage, n: number, group = 'mirror', holding?: string): Promise<void> {
  const shop = page.store.database('shop')
  const letters = await openDeadLetters(shop, 'orders', { id: holding })
  const { identity } = shop.collection('orders')
  const id = `o${n}`
  const system = { _rid: 'r', _self: 's', _etag: '"1"', _ts: 1, _lsn: n }
  const about = { id, partitionKey: id, lsn: lsn(n), committedAtMs: 0 }
  await letters.put({
    id: `letter-${group}-${String(n).padStart(3, '0')}`,
    group,
    feed: holding === undefined ? 'f' : identity,
    range: FULL_RANGE,
    lsn: lsn(n),
    change: {
      kind: 'document',
      ...about,
      document: { id, secret: n, ...system } as { id: string } & typeof system,
    },
    error: {
      name: 'TypeError',
      message: 'poison at redis://user:pa55@host',
      stack: 'at somewhere',
    },
    attempts: 5,
    hostName: 'worker-1',
    failedAtMs: 1_000,
  })
}

test('a collection whose groups have set nothing aside has no letters', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const { head, tables } = await page.view('letters', ORDERS)
  expect(head).toMatchObject({ letters: 'orders-deadletters', groups: [], next: null })
  expect(tables.letters).toEqual([])
  const body = { ...ORDERS, group: 'mirror', ids: null }
  expect((await page.post('redriveLetters', body)).status).toBe(404)
})

test('letters are listed oldest first, 100 at a time, and shown with their masked document', async () => {
  await using page = await OpenedPage.open({
    mask: (value, { kind }) =>
      kind === 'error'
        ? `${String(value).length} characters`
        : { id: (value as { id: string }).id },
  })
  await write(page.store, 1)
  for (let n = 130; n > 0; n -= 1) await put(page, n)
  await put(page, 1, 'other')
  const { head, tables } = await page.view('letters', { ...ORDERS, group: 'mirror' })
  expect(head).toMatchObject({ groups: ['mirror', 'other'], truncated: true })
  expect(tables.letters).toHaveLength(100)
  expect(tables.letters[0]).toMatchObject({
    group: 'mirror',
    state: 'kept',
    lsn: 1,
    kind: 'document',
    documentId: 'o1',
    key: '["o1"]',
    error: '35 characters',
    attempts: 5,
    host: 'worker-1',
    failedMs: 1_000,
    redrives: 0,
  })
  const after = head.next ?? ''
  const next = await page.view('letters', { ...ORDERS, group: 'mirror', after })
  expect(next.tables.letters.map(({ lsn: number }) => number)).toEqual(
    Array.from({ length: 30 }, (_, index) => 101 + index),
  )
  expect(next.head).toMatchObject({ next: null, truncated: false })
  expect((await page.view('letters', ORDERS)).head.truncated).toBe(true)
  const letter = await page.read('letter', { ...ORDERS, id: 'letter-mirror-007' })
  expect(letter).toMatchObject({ documentId: 'o7', lsn: 7, range: '-FF', stack: '12 characters' })
  expect(JSON.parse(letter.text)).toEqual({ id: 'o7' })
  expect(await page.refused('api/views/letters', { ...ORDERS, after: 'x' })).toEqual([
    400,
    'ERR_BAD_REQUEST',
  ])
  const overview = await page.view('overview', {})
  expect(overview.tables.collections.map(({ id, purpose }) => [id, purpose])).toEqual([
    ['shop/orders', null],
    ['shop/orders-deadletters', 'deadLetters'],
  ])
})

test('a letter is shown as one of its own collection only, whose documents the mask knows', async () => {
  await using page = await OpenedPage.open({
    mask: (value, { collection }) => (collection === 'orders' ? 'hidden' : value),
  })
  await write(page.store, 1)
  const shop = page.store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'harmless', partitionKey: '/id' })
  for (const letters of ['orders-deadletters', 'aside']) {
    const isOwn = letters === 'orders-deadletters'
    await put(page, 1, 'mirror', isOwn ? undefined : letters)
    const query = { ...ORDERS, letters, id: 'letter-mirror-001' }
    expect((await page.read('letter', query)).text).toBe('"hidden"')
    expect(await page.refused('api/letter', { ...query, collection: 'harmless' })).toEqual([
      404,
      'ERR_NOT_FOUND',
    ])
  }
})

test('redrive and drop say first what they will do, and then do it to the chosen letters', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  for (const n of [1, 2, 3]) await put(page, n)
  const states = async () => {
    const { tables } = await page.view('letters', { ...ORDERS, group: 'mirror' })
    return tables.letters.map(({ lsn: number, state }) => [number, state])
  }
  const ids = ['letter-mirror-001', 'letter-mirror-009']
  const chosen = { ...ORDERS, group: 'mirror', ids }
  const dry = await page.act('redriveLetters', { ...chosen, dryRun: true })
  expect(dry).toMatchObject({ done: false, numbers: { letters: 1, missing: 1 } })
  expect(dry.text).toMatch(/^1 dead letter of group mirror go back/)
  expect(await states()).toEqual([
    [1, 'kept'],
    [2, 'kept'],
    [3, 'kept'],
  ])
  const done = await page.act('redriveLetters', chosen)
  expect(done).toMatchObject({ done: true, numbers: { letters: 1, missing: 1 } })
  expect(await states()).toEqual([
    [1, 'redriven'],
    [2, 'kept'],
    [3, 'kept'],
  ])
  const dropped = { ...ORDERS, group: 'mirror', ids: ['letter-mirror-002'] }
  expect((await page.act('dropLetters', { ...dropped, dryRun: true })).text).toContain('for good')
  expect(await states()).toHaveLength(3)
  await page.act('dropLetters', dropped)
  const everything = { ...ORDERS, group: 'mirror', ids: null }
  expect(await page.act('dropLetters', { ...everything, dryRun: true })).toMatchObject({
    numbers: { letters: 2 },
  })
  await page.act('dropLetters', everything)
  expect(await states()).toEqual([])
  for (const wrong of [[], 'all', [1], Array.from({ length: 101 }, String)]) {
    const answer = await page.post('dropLetters', { ...ORDERS, group: 'mirror', ids: wrong })
    expect(answer.status).toBe(400)
  }
})
