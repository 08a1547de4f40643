import {
  encodeContinuation,
  lsn,
  pkRangeId,
  type FeedRange,
  type SourceRange,
} from '@tidemark/contracts'
import { FakeDocumentCollection, SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { DocumentLeaseStore } from './document-lease-store.ts'

const RANGE: FeedRange = { minInclusive: '', maxExclusive: '20' }
const PREFIX = 'ordersaccount.example.com_Sl8fAA==_Sl8fALN4sw4=..'

function startOf(range: FeedRange, at: number) {
  const position = { range, epoch: 0, lsn: lsn(at), purgeStamp: undefined }
  const collectionRid = 'Sl8fALN4sw4='
  const token = { collectionRid, mode: 'latestVersion', positions: [position] } as const
  return { range, checkpoint: { continuation: encodeContinuation(token), lsn: lsn(at) } }
}

test('LE-1 a lease document says what readers of V3’s leases look for, also after a checkpoint', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const leaseIdPrefix = PREFIX
  let ranges: readonly SourceRange[] = []
  const feed = { readFeedRanges: async () => ranges }
  const store = new DocumentLeaseStore(collection, { leaseIdPrefix })
  const group = await store.openGroup('orders', { feed })
  await group.create([startOf(RANGE, 7)])
  const who = { host: 'w1', incarnation: 'w1-1' }
  const profile = { weight: 1, minLeases: 0, maxLeases: Infinity, leaving: false }
  const joined = await group.sync({
    ...who,
    intent: 'join',
    profile,
    ttlMs: 8000,
    clockCapMs: 2000,
  })
  const { membershipVersion } = joined as { membershipVersion: number }
  await group.plan({ membershipVersion, targets: new Map([['-20', 'w1']]) })
  const leaseOf = async () => {
    const { documents } = await collection.readPartition('orders')
    return documents.filter(({ id }) => id.startsWith(PREFIX))
  }
  const before = await leaseOf()
  expect(before).toMatchObject([
    {
      partitionKey: 'orders',
      version: 1,
      LeaseToken: '-20',
      FeedRange: { Range: { min: '', max: '20' } },
      Owner: null,
      ContinuationToken: '"7"',
      properties: {},
    },
  ])
  ranges = [{ ...RANGE, id: pkRangeId('3') }]
  const [acquired] = await group.acquire({ ...who, leaseIds: ['-20'] })
  const epoch = acquired?.epoch ?? 0
  const { checkpoint } = startOf(RANGE, 12)
  await group.checkpoint({ ...who, checkpoints: [{ leaseId: '-20', epoch, checkpoint }] })
  expect(await leaseOf()).toMatchObject([
    { version: 0, LeaseToken: '3', Owner: 'w1', ContinuationToken: '"12"' },
  ])
  const halves = [
    { minInclusive: '', maxExclusive: '10' },
    { minInclusive: '10', maxExclusive: '20' },
  ]
  ranges = halves.map((half, index) => ({ ...half, id: pkRangeId(`${4 + index}`) }))
  const next = halves.map((half) => startOf(half, 12))
  await group.replace({ ...who, old: [{ leaseId: '-20', epoch }], next })
  expect(await leaseOf()).toMatchObject([
    { version: 0, LeaseToken: '4' },
    { version: 0, LeaseToken: '5' },
  ])
  await group.close()
})

/** The version and token of each lease document after `create`, by a store whose feed answers so. */
async function forms(
  readFeedRanges: (options?: {
    signal?: AbortSignal | undefined
  }) => Promise<readonly SourceRange[]>,
  options: { readonly leaseIdPrefix?: string } = { leaseIdPrefix: PREFIX },
) {
  const clock = new SimulatedClock()
  const collection = new FakeDocumentCollection({ clock })
  const feed = { readFeedRanges }
  const store = new DocumentLeaseStore(collection, { ...options, clock })
  const group = await store.openGroup('orders', { feed })
  const rest = { minInclusive: '20', maxExclusive: 'FF' }
  const created = group.create([startOf(RANGE, 7), startOf(rest, 7)])
  await clock.advance(2000)
  await created
  await group.close()
  const { documents } = await collection.readPartition('orders')
  return (documents as unknown as readonly Readonly<Record<string, unknown>>[]).flatMap(
    ({ version, LeaseToken, FeedRange }) =>
      version === undefined ? [] : [{ version, LeaseToken, FeedRange }],
  )
}

test('LE-1 a lease that is one whole pkrange is written as V3 writes such a lease, any other one by its keys', async () => {
  const present: readonly SourceRange[] = [
    { ...RANGE, id: pkRangeId('3') },
    { minInclusive: '20', maxExclusive: '80', id: pkRangeId('4') },
    { minInclusive: '80', maxExclusive: 'FF', id: pkRangeId('5') },
  ]
  const second = {
    version: 1,
    LeaseToken: '20-FF',
    FeedRange: { Range: { min: '20', max: 'FF' } },
  }
  const FeedRange = { Range: { min: '', max: '20' } }
  const byKeys = [{ version: 1, LeaseToken: '-20', FeedRange }, second]
  expect(await forms(async () => present)).toEqual([
    { version: 0, LeaseToken: '3', FeedRange },
    second,
  ])
  // Nobody looks for the leases, the feed has no such ids, is away, or does not answer.
  expect(await forms(async () => present, {})).toEqual(byKeys)
  expect(await forms(async () => [RANGE])).toEqual(byKeys)
  expect(await forms(() => Promise.reject(new Error('away')))).toEqual(byKeys)
  expect(await forms(() => new Promise(() => undefined))).toEqual(byKeys)
})

test('hosts with another prefix, or none, work on the leases that are there', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const open = (leaseIdPrefix?: string) =>
    new DocumentLeaseStore(collection, { leaseIdPrefix }).openGroup('orders')
  const [one, two] = [await open(PREFIX), await open()]
  await one.create([startOf(RANGE, 7)])
  expect((await two.read()).leases.map(({ id }) => id)).toEqual(['-20'])
  await two.discard('again')
  await two.create([startOf(RANGE, 9)])
  const { documents } = await collection.readPartition('orders')
  const ids = documents.map(({ id }) => id).filter((id) => id.endsWith('-20'))
  expect(ids).toEqual([expect.stringMatching(/^lease-/)])
  expect((await one.read()).leases.map(({ checkpoint }) => checkpoint.lsn)).toEqual([9])
  await one.close()
  await two.close()
})

test('a new group is refused beside leases of a .NET or Java processor with its prefix, and nothing is written', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const open = (leaseIdPrefix?: string, group = 'orders', replacesV3?: boolean) =>
    new DocumentLeaseStore(collection, { leaseIdPrefix }).openGroup(group, { replacesV3 })
  const before = await open('net..', 'before')
  await before.create([startOf(RANGE, 7)])
  const mark = Object.assign({ id: 'net.info' }, { partitionKey: 'net.info' })
  await collection.create(mark)
  const documents = collection.snapshot()
  for (const leaseIdPrefix of ['net..', 'net']) {
    await expect(open(leaseIdPrefix)).rejects.toMatchObject({
      code: 'ERR_LEASE_STORAGE',
      message: expect.stringMatching(/"net.info".*leases import --from-v3/),
    })
  }
  expect(collection.snapshot()).toEqual(documents)
  // Without the prefix, or with another one, its processor does not see them; nor does a group that is there break.
  for (const leaseIdPrefix of [undefined, 'other..', 'ne'])
    await (await open(leaseIdPrefix)).close()
  await (await open('net..', 'before')).close()
  // An import makes the leases; hosts find them then.
  const imported = await open('net..', 'imported', true)
  await imported.create([startOf(RANGE, 7)])
  await (await open('net..', 'imported')).close()
})

test('a prefix that leaves no room for the name of a range is refused when its lease is made', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const open = (chars: number) =>
    new DocumentLeaseStore(collection, { leaseIdPrefix: 'x'.repeat(chars) }).openGroup('orders')
  // As long as a split of three levels of keys can make them.
  const range = { minInclusive: '1'.repeat(96), maxExclusive: '2'.repeat(96) }
  const tooLong = await open(54)
  await expect(tooLong.create([startOf(range, 7)])).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    message: expect.stringMatching(/256 characters.*leaseIdPrefix is too long by 1/),
  })
  expect((await tooLong.read()).leases).toEqual([])
  const fitting = await open(53)
  await fitting.create([startOf(range, 7)])
  expect((await fitting.read()).leases).toHaveLength(1)
  await tooLong.close()
  await fitting.close()
})

test('a prefix that no id can begin with is refused', () => {
  for (const leaseIdPrefix of ['', 'a/b', 'a b', 'x'.repeat(101)]) {
    const make = () =>
      new DocumentLeaseStore(new FakeDocumentCollection({ clock: new SimulatedClock() }), {
        leaseIdPrefix,
      })
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  }
})

test('a set that is declared lost leaves no document of a lease, also not one that nobody could read', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const group = await new DocumentLeaseStore(collection).openGroup('orders')
  await group.create([startOf(RANGE, 7), startOf({ minInclusive: '20', maxExclusive: 'FF' }, 7)])
  const leases = () => [...collection.snapshot().values()].filter((one) => 'leaseId' in one)
  const [struck] = leases()
  await collection.replace({ ...struck!, lsn: -1 } as never)
  expect((await group.read()).leases).toHaveLength(1)
  const keys = [{ minInclusive: '', maxExclusive: 'FF' }]
  expect(await group.declareLost({ keys, generation: 'next' })).toBe(true)
  expect(leases()).toEqual([])
  await group.close()
})

test('what hosts tell never expires, and what somebody wrote over it takes nothing else along', async () => {
  const collection = new FakeDocumentCollection({ clock: new SimulatedClock() })
  const group = await new DocumentLeaseStore(collection).openGroup('orders')
  const counts = { changes: 0, batches: 0, changesPerS: 0, errors: 0, deadLetters: 0 }
  const summary = { host: 'a', atMs: 1, sinceMs: 1, ...counts, halted: [] }
  const transition = { atMs: 1, host: 'a', leaseId: '-20', epoch: 1, kind: 'acquired' as const }
  await group.note?.({ summary, transitions: [transition] })
  const { documents } = await collection.readPartition('$notes')
  expect(documents).toMatchObject([{ ttl: -1 }, { ttl: -1 }])
  for (const document of documents) {
    const [item]: readonly unknown[] = Reflect.get(document, 'items')
    await collection.replace({ ...document, items: [null, { host: 'a', kind: 7 }, item] } as never)
  }
  expect(await group.readSummaries?.()).toEqual([summary])
  expect(await group.readTransitions?.()).toEqual([transition])
  const later = { ...transition, atMs: 2 }
  await group.note?.({ summary, transitions: [later] })
  expect(await group.readTransitions?.()).toEqual([transition, later])
  await group.close()
})
