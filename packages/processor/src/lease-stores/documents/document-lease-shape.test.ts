import { encodeContinuation, lsn, type FeedRange } from '@tidemark/contracts'
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
  const group = await new DocumentLeaseStore(collection, { leaseIdPrefix }).openGroup('orders')
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
  const [acquired] = await group.acquire({ ...who, leaseIds: ['-20'] })
  const epoch = acquired?.epoch ?? 0
  const { checkpoint } = startOf(RANGE, 12)
  await group.checkpoint({ ...who, checkpoints: [{ leaseId: '-20', epoch, checkpoint }] })
  expect(await leaseOf()).toMatchObject([{ Owner: 'w1', ContinuationToken: '"12"' }])
  await group.close()
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
