import { expect, test } from 'vitest'
import { ORDERS, write } from './mirrored-orders.fixture.ts'
import { OpenedPage } from './opened-page.fixture.ts'
import type { DocumentsAnswer, DocumentsQuery, TailEvent } from './views.ts'

const BAD = [400, 'ERR_BAD_REQUEST'] as const

async function all(page: OpenedPage, query: DocumentsQuery): Promise<readonly DocumentsAnswer[]> {
  const answers: DocumentsAnswer[] = []
  let continuation: string | null = null
  do {
    const next: DocumentsAnswer = await page.read('documents', {
      ...query,
      ...(continuation === null ? {} : { continuation }),
    })
    answers.push(next)
    ;({ continuation } = next)
  } while (continuation !== null && !answers.at(-1)?.caughtUp)
  return answers
}

const idsOf = (answers: readonly DocumentsAnswer[]): readonly string[] =>
  answers.flatMap(({ documents }) => documents.map(({ documentId }) => documentId))

test('documents are found by id, by key, by range, and page by page', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 230)
  const one = await page.read('documents', { ...ORDERS, id: 'o7', key: '"o7"' })
  expect(one).toMatchObject({ continuation: null, caughtUp: true })
  expect(one.documents).toMatchObject([{ documentId: 'o7', key: '["o7"]', kind: 'document' }])
  const [{ text, lsn, changedMs } = one.documents[0]!] = one.documents
  expect(JSON.parse(text ?? '')).toMatchObject({ id: 'o7', total: 7, _lsn: lsn })
  expect(changedMs).toBeGreaterThan(1_700_000_000_000)
  expect((await page.read('documents', { ...ORDERS, id: 'no', key: '"o7"' })).documents).toEqual([])
  expect(idsOf(await all(page, { ...ORDERS, key: '["o9"]' }))).toEqual(['o9'])
  const pages = await all(page, ORDERS)
  expect(pages.map(({ documents }) => documents.length)).toEqual([100, 100, 30])
  expect(new Set(idsOf(pages)).size).toBe(230)
  const ranges = (await page.view('collection', ORDERS)).tables.ranges
  const parts = await Promise.all(ranges.map(({ id }) => all(page, { ...ORDERS, range: id })))
  expect(parts.map((part) => idsOf(part).length)).toEqual(ranges.map(({ documents }) => documents))
  const [first] = ranges
  const byKeys = await all(page, { ...ORDERS, range: `${first?.from}-${first?.to}` })
  expect(idsOf(byKeys)).toEqual(idsOf(parts[0]!))
})

test('the feed is read from the beginning, a time, or an LSN of a range, and goes on where it ended', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 30)
  const answers = await all(page, { ...ORDERS, from: 'beginning' })
  expect(new Set(idsOf(answers)).size).toBe(30)
  const { continuation } = answers.at(-1)!
  await write(page.store, 1, 30)
  const later = await page.read('documents', {
    ...ORDERS,
    from: 'beginning',
    continuation: continuation ?? '',
  })
  expect(idsOf([later])).toEqual(['o30'])
  const ofRange = await all(page, { ...ORDERS, range: '0', from: 'beginning' })
  const lsns = ofRange.flatMap(({ documents }) => documents.map(({ lsn }) => lsn ?? 0))
  expect(lsns).toEqual([...lsns].sort((one, other) => one - other))
  const middle = lsns[Math.floor(lsns.length / 2)] ?? 0
  const fromLsn = await all(page, { ...ORDERS, range: '0', from: `lsn:${middle}` })
  expect(fromLsn.flatMap(({ documents }) => documents.map(({ lsn }) => lsn))).toEqual(
    lsns.filter((lsn) => lsn >= middle),
  )
  expect(idsOf(await all(page, { ...ORDERS, from: '2020-01-01T00:00:00Z' }))).toHaveLength(31)
  expect(idsOf(await all(page, { ...ORDERS, from: 'now' }))).toEqual([])
})

test('what is malformed, or does not go together, is refused', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 3)
  const refused = (query: object) => page.refused('api/documents', { ...ORDERS, ...query })
  for (const query of [
    { id: 'o1' },
    { id: 'o1', key: 'o1' },
    { key: '{"a":1}' },
    { key: '"o1"', range: '0' },
    { key: '"o1"', from: 'beginning' },
    { from: 'yesterday' },
    { from: 'lsn:1' },
    { from: 'lsn:x', range: '0' },
    { range: 'x' },
    { range: 'FF-00' },
  ]) {
    expect([query, ...(await refused(query))]).toEqual([query, ...BAD])
  }
  expect(await refused({ range: '99' })).toEqual([404, 'ERR_NOT_FOUND'])
  expect(await refused({ key: '["o1","o2"]' })).toEqual([400, 'ERR_INVALID_PARTITION_KEY'])
  expect(await refused({ continuation: 'x' })).toEqual([400, 'ERR_INVALID_CONTINUATION'])
  expect(await refused({ from: 'lsn:9999', range: '0' })).toEqual([400, 'ERR_INVALID_CONTINUATION'])
})

test('the tail sends changes as they come, and the mask hides their texts everywhere', async () => {
  const asked: string[] = []
  await using page = await OpenedPage.open({
    mask: (value, place) => {
      asked.push(`${place.kind} ${place.database}/${place.collection}`)
      const { id, total } = value as { id: string; total: number }
      if (total === 1) throw new Error('secret')
      return { id, total: '…' }
    },
  })
  await write(page.store, 3)
  const events = await page.stream('tail', { ...ORDERS, from: 'beginning' })
  const changes = new Map<string, string | null>()
  while (changes.size < 3) {
    const { event, data } = (await events.next())!
    expect(event).toBe('changes')
    const { changes: rows, skipped } = data as TailEvent
    expect(skipped).toBe(0)
    for (const { documentId, text } of rows) changes.set(documentId, text)
  }
  expect(JSON.parse(changes.get('o0') ?? '')).toEqual({ id: 'o0', total: '…' })
  expect(changes.get('o1')).toBe('"(the hook that masks texts failed)"')
  await write(page.store, 1, 2)
  const { data } = (await events.next())!
  expect((data as TailEvent).changes.map(({ documentId }) => documentId)).toEqual(['o2'])
  await events.cancel()
  const { documents } = await page.read('documents', ORDERS)
  expect(documents.map(({ text }) => text).join()).not.toMatch(/total": \d/)
  expect(new Set(asked)).toEqual(new Set(['document shop/orders']))
  expect((await page.read('info', {})).masked).toBe(true)
})

test('a text of more than 64 KiB is cut', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const orders = page.store.database('shop').collection<{ id: string; long: string }>('orders')
  await orders.upsert({ id: 'long', long: 'x'.repeat(100_000) })
  const { documents } = await page.read('documents', { ...ORDERS, id: 'long', key: '"long"' })
  expect(documents).toMatchObject([{ isCut: true }])
  expect(documents[0]?.text).toHaveLength(64 * 1024)
})
