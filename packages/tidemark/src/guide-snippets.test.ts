import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ShiftedClock } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  DocumentLeaseStore,
  archiveDocuments,
  archiveExpired,
  jsonLinesSink,
  openStore,
  readJsonLines,
  type StartPosition,
  type Database,
  type Store,
} from './index.ts'

/*
 * The snippets of the guides, word for word: they are compiled and run here, and the last test finds each
 * one of the guides in this file.
 */

interface Session {
  readonly id: string
  readonly user: string
  readonly ttl?: number
}

let folder: string
let coldFolder: string
let store: Store
let shop: Database
let clock: ShiftedClock

beforeEach(async () => {
  clock = new ShiftedClock()
  folder = await mkdtemp(join(tmpdir(), 'tidemark-guide-'))
  coldFolder = join(folder, 'cold')
  store = await openStore({
    folder: join(folder, 'data'),
    durability: 'relaxed',
    maintenance: 'manual',
    clock,
  })
  shop = store.database('shop')
  await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

test('time-to-live.md: expiry, pending deletes, retention, horizon, archive', async () => {
  const sessions = await shop.createCollectionIfNotExists<Session>({
    id: 'sessions',
    partitionKey: '/user',
    defaultTtl: 3600, // seconds after the last change
  })
  await sessions.upsert({ id: 's1', user: 'u1' }) // expires in an hour
  await sessions.upsert({ id: 's2', user: 'u1', ttl: 60 }) // in a minute
  await sessions.upsert({ id: 's3', user: 'u1', ttl: -1 }) // never

  const view = new Map<string, number | undefined>()
  clock.step(61_000)
  await store.runMaintenance()
  for await (const page of sessions.changes({ from: 'beginning', follow: false })) {
    for (const change of page.changes) {
      if (change.kind === 'document') view.set(change.id, change.expiresAtMs)
      if (change.kind === 'pendingDelete') view.delete(change.lastVersion.id)
    }
  }
  expect([...view.keys()].toSorted()).toEqual(['s1', 's3'])
  let continuation = ''
  for await (const page of sessions.changes({ from: 'beginning', follow: false })) {
    ;({ continuation } = page)
  }

  await sessions.updateSettings({ defaultTtl: -1 })
  expect((await sessions.readExpiry()).withExpiry).toBeLessThanOrEqual(1)
  await sessions.updateSettings({ defaultTtl: 3600 })

  await sessions.updateSettings({
    pendingDeletes: { retentionSeconds: 3 * 86_400, waitFor: ['mirror'] },
  })
  await sessions.removeWaitingGroup('mirror')

  const rows: object[] = []
  const archive = archiveExpired<Session>({
    source: sessions,
    sink: jsonLinesSink({ folder }),
    leases: new DocumentLeaseStore(shop.collection('leases')),
  })
  await archive.start() // from here on, nothing is purged before it is in the folder
  await archive.caughtUp() // all pending deletes up to now are in the folder
  for await (const { id, expiredAtMs, document } of readJsonLines<Session>(folder)) {
    rows.push({ id, expiredAtMs, user: document.user })
  }
  await archive.retire() // stops, and purges no longer wait for it
  expect(rows).toMatchObject([{ id: 's2', user: 'u1' }])

  clock.step(3_700_000)
  await store.runMaintenance()
  clock.step(4 * 86_400_000)
  expect((await store.runMaintenance()).purged).toBe(2)
  await expect(
    sessions.changes({ from: { continuation }, follow: false }).next(),
  ).rejects.toMatchObject({ code: 'ERR_HORIZON_PASSED' })
  const pages = sessions.changes({
    from: { continuation },
    follow: false,
    onHorizonPassed: 'resync',
  })
  for await (const page of pages) {
    if (page.resynchronized !== undefined) view.clear() // documents that do not come again no longer exist
    for (const { kind, id } of page.changes) {
      if (kind === 'document') view.set(id, undefined)
    }
  }
  expect([...view.keys()]).toEqual(['s3'])
})

test('TTL-19 time-to-live.md: tiering, all versions, a part that expires', async () => {
  const sessions = await shop.createCollectionIfNotExists<Session>({
    id: 'sessions',
    partitionKey: '/user',
    defaultTtl: -1,
  })
  await sessions.upsert({ id: 's1', user: 'u1' })
  clock.step(3_600_000)
  const quietSince = clock.wallMs() / 1000 - 1_800
  await sessions.upsert({ id: 's2', user: 'u1' })
  const report = await archiveDocuments<Session>({
    source: sessions,
    where: ({ _ts }) => _ts < quietSince,
    sink: jsonLinesSink({ folder: coldFolder }),
  })
  expect(report).toMatchObject({ archived: 1, removed: 1 })

  const operations: string[] = []
  const logBegan: StartPosition = 'beginning'
  await sessions.updateSettings({ allVersions: { retentionSeconds: 86_400, previousImages: true } })
  await sessions.upsert({ id: 's4', user: 'u2' })
  await sessions.delete('s4', 'u2')
  for await (const page of sessions.changes({
    mode: 'allVersions',
    from: logBegan,
    follow: false,
  })) {
    for (const change of page.changes) {
      if (change.kind !== 'version') continue
      operations.push(change.operationType) // 'create', 'replace' or 'delete'
      if (change.timeToLiveExpired) operations.push('by expiry')
    }
  }
  expect(operations).toEqual(['create', 'delete'])

  const users = await shop.createCollectionIfNotExists<{
    readonly id: string
    readonly user: string
    readonly name?: string
    readonly code?: string
    readonly ttl?: number
  }>({ id: 'users', partitionKey: '/user', defaultTtl: -1 })
  await users.batch('u1', [
    { kind: 'upsert', document: { id: 'profile', user: 'u1', name: 'Ada' } },
    { kind: 'upsert', document: { id: 'profile:code', user: 'u1', code: '4711', ttl: 300 } },
  ])
  const { documents } = await users.readPartition('u1') // one snapshot; the code is there for five minutes
  expect(documents).toHaveLength(2)
  clock.step(300_000)
  expect((await users.readPartition('u1')).documents).toMatchObject([{ id: 'profile' }])
})

test('splits.md: by hand, by size, and continuations of parents', async () => {
  const orders = await shop.createCollectionIfNotExists<{
    readonly id: string
    readonly customerId: string
  }>({ id: 'orders', partitionKey: '/customerId' })
  for (let n = 0; n < 20; n += 1) await orders.upsert({ id: `o${n}`, customerId: `c${n}` })
  const log: object[] = []
  await orders.updateSettings({ splitAboveBytes: 1024 * 1024 * 1024 })
  store.events.on('rangeSplit', ({ rangeId, children, cause }) =>
    log.push({ rangeId, children, cause }),
  )
  {
    const [range] = await orders.readFeedRanges()
    const [low, high] = await orders.split(range?.id ?? '') // in the middle of its documents
    const merged = await orders.merge(low.id, high.id) // two neighbours
    expect(merged.parents).toEqual([range?.id, low.id, high.id])
  }
  expect(log).toMatchObject([{ rangeId: '0', cause: 'request' }])

  const found: string[] = []
  const before = await orders.readFeedRanges()
  const [first] = before
  if (first === undefined) throw new Error('a collection has a range')
  const { continuation } = await orders.resolveStart({ range: first, start: 'now' })
  const [left, right] = await orders.split(first.id ?? '')
  await orders.upsert({ id: 'o9', customerId: 'c9' })
  for (const child of [left, right]) {
    const page = await orders.readPage({ range: child, continuation }) // the parent's continuation
    found.push(...page.changes.map(({ id }) => id))
  }
  expect(found).toEqual(['o9'])
})

test.each(['time-to-live.md', 'splits.md'])(
  'every snippet of %s is in this file',
  async (guide) => {
    const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
    const text = await readFile(new URL(`../../../docs/guide/${guide}`, import.meta.url), 'utf8')
    const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) => snippet)
    expect(snippets.length).toBeGreaterThan(2)
    for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
  },
)

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
