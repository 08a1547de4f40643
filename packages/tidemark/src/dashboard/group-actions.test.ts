import { expect, test } from 'vitest'
import { LEASES, MIRROR, startHost, write } from './mirrored-orders.fixture.ts'
import { OpenedPage, problem } from './opened-page.fixture.ts'

const DOCUMENTS = 20

async function processed(options: Parameters<typeof OpenedPage.open>[0] = {}) {
  const page = await OpenedPage.open(options)
  await write(page.store, DOCUMENTS)
  const seen: string[] = []
  const host = await startHost(page.store, { seen })
  await expect.poll(() => seen.length).toBe(DOCUMENTS)
  return {
    page,
    seen,
    host,
    look: () => page.view('group', MIRROR),
    async [Symbol.asyncDispose]() {
      await host.unregisterObservers()
      await page[Symbol.asyncDispose]()
    },
  }
}

test('pause and resume: a dry run tells what they do and changes nothing; then the hosts do it', async () => {
  await using all = await processed()
  const { page, look } = all
  const dry = await page.act('pause', { ...MIRROR, dryRun: true })
  expect(dry).toMatchObject({ done: false, numbers: { ranges: 4, hosts: 1 }, moves: [] })
  expect(dry.text).toMatch(/^1 host of group mirror .*4 ranges/)
  expect((await look()).head.paused).toBe(false)
  expect(await page.act('pause', MIRROR)).toMatchObject({ done: true })
  await expect
    .poll(async () => (await look()).tables.leases.map(({ state }) => state))
    .toEqual(Array(4).fill('paused'))
  const { head, tables } = await look()
  expect(head).toMatchObject({ paused: true, severity: 1, notes: ['paused'] })
  expect(tables.hosts).toMatchObject([{ id: 'worker-1', ranges: 0 }])
  expect((await page.act('pause', MIRROR)).text).toContain('already')
  await page.act('resume', { ...MIRROR, dryRun: true })
  expect((await look()).head.paused).toBe(true)
  await page.act('resume', MIRROR)
  await expect
    .poll(async () => (await look()).tables.leases.map(({ state }) => state))
    .toEqual(Array(4).fill('owned'))
})

test('seek: the dry run shows each move; then everything comes again', async () => {
  await using all = await processed()
  const { page, seen, look } = all
  const to = { ...MIRROR, to: 'beginning' }
  const dry = await page.act('seek', { ...to, dryRun: true })
  expect(dry).toMatchObject({
    done: false,
    numbers: { ranges: 4, repeated: DOCUMENTS, skipped: 0 },
  })
  expect(dry.text).toContain(`up to ${DOCUMENTS} transactions are delivered again`)
  expect(dry.moves.map(({ toLsn, effect }) => [toLsn, effect])).toEqual(
    Array(4).fill([0, 'repeats']),
  )
  expect(seen).toHaveLength(DOCUMENTS)
  await page.act('seek', to)
  await expect.poll(() => seen.length).toBe(2 * DOCUMENTS)
  const [first] = (await look()).tables.leases
  const one = await page.act('seek', { ...to, ranges: [first?.id ?? ''], dryRun: true })
  expect(one.moves).toHaveLength(1)
  const now = await page.act('seek', { ...MIRROR, to: 'now', dryRun: true })
  expect(now).toMatchObject({ numbers: { repeated: 0, skipped: 0 } })
  for (const body of [
    { ...to, to: 'yesterday' },
    { ...to, ranges: ['x'] },
    { ...to, ranges: 'all' },
    MIRROR,
  ]) {
    expect((await page.post('seek', body)).status).toBe(400)
  }
})

test('release takes leases from their host, which gets them again with another epoch', async () => {
  await using all = await processed()
  const { page, look } = all
  const [first, ...others] = (await look()).tables.leases
  const body = { ...MIRROR, ranges: [first?.id ?? ''] }
  expect((await page.act('release', { ...body, dryRun: true })).text).toContain('worker-1')
  expect((await look()).tables.leases[0]?.epoch).toBe(first?.epoch)
  expect(await page.act('release', body)).toMatchObject({ numbers: { ranges: 1, hosts: 1 } })
  await expect
    .poll(async () => (await look()).tables.leases[0])
    .toMatchObject({ owner: 'worker-1', state: 'owned' })
  const after = (await look()).tables.leases
  expect(after[0]?.epoch).toBeGreaterThan(first?.epoch ?? 0)
  expect(after.slice(1).map(({ epoch }) => epoch)).toEqual(others.map(({ epoch }) => epoch))
  expect((await page.post('release', MIRROR)).status).toBe(400)
  const none = await page.post('release', { ...MIRROR, group: 'other', ranges: ['all'] })
  expect(await problem(none)).toEqual([404, 'ERR_NOT_FOUND'])
})

test('read-only refuses every action with its code, and still tells what one would do', async () => {
  await using all = await processed({ readOnly: true })
  const { page, look } = all
  const names = [
    'pause',
    'resume',
    'seek',
    'release',
    'redriveLetters',
    'dropLetters',
    'redriveMessages',
    'schedule',
    'cancelScheduled',
  ]
  for (const name of names) {
    expect(await problem(await page.post(name, { ...MIRROR, to: 'now' }))).toEqual([
      403,
      'ERR_READ_ONLY',
    ])
  }
  expect(await page.act('pause', { ...MIRROR, dryRun: true })).toMatchObject({ done: false })
  expect((await look()).head.paused).toBe(false)
})

test('a host that died leaves orphans, then its leases; a lease that was deleted is missing', async () => {
  await using all = await processed()
  const { page, host, look } = all
  await host.unregisterObservers()
  const { tables, head } = await look()
  expect(tables.leases.map(({ state, owner }) => [state, owner])).toEqual(
    Array(4).fill(['free', null]),
  )
  expect(head).toMatchObject({ severity: 1, notes: ['4 ranges without an owner'] })
  const leases = page.store
    .database('shop')
    .collection<{ id: string; partitionKey: string }>('leases')
  const found = (await leases.readDocuments()).documents.filter((one) => 'leaseId' in one)
  await leases.delete(found[0]!.id, found[0]!.partitionKey)
  const now = await look()
  expect(now.tables.leases).toHaveLength(4)
  expect(now.tables.leases.filter(({ state }) => state === 'missing')).toHaveLength(1)
  expect(now.head.severity).toBe(2)
  expect(now.head.notes).toContain('1 range missing')
  expect(LEASES).toBe(`shop/${leases.id}`)
})
