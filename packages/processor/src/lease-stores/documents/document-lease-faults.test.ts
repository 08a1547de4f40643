import { expect, test } from 'vitest'
import {
  lsn,
  ResourceNotFoundError,
  StoreUnavailableError,
  type BatchAttempts,
  type DocumentCollection,
  type HeldLease,
  type LeaseGroup,
} from '@tidemark/contracts'
import { FakeDocumentCollection } from '@tidemark/testing'
import {
  hostIdentity,
  leasePosition,
  newLeases,
  ownedGroup,
  StoreTime,
  syncRequest,
} from '@tidemark/testing/conformance'
import { DocumentLeaseStore, type DocumentLeaseStoreOptions } from './document-lease-store.ts'

const A = hostIdentity('a')
const UNAVAILABLE = { code: 'ERR_LEASE_STORE_UNAVAILABLE', retryable: true }
const STORAGE = { code: 'ERR_LEASE_STORAGE', retryable: false }

interface Stage {
  readonly collection: FakeDocumentCollection
  readonly faults: {
    before?: (method: string) => Promise<void> | void
    after?: (method: string) => Promise<void> | void
  }
  readonly open: (options?: DocumentLeaseStoreOptions) => Promise<LeaseGroup>
}

function stage(): Stage {
  const clock = new StoreTime()
  const faults: Stage['faults'] = {}
  const collection = new FakeDocumentCollection({
    clock,
    before: (method) => faults.before?.(method),
    after: (method) => faults.after?.(method),
  })
  return {
    collection,
    faults,
    open: (options = {}) =>
      new DocumentLeaseStore(collection, { clock, ...options }).openGroup('group'),
  }
}

/** Fails the nth call of a method, before or after it took effect. */
function failNth(method: string, nth: number): (called: string) => void {
  let calls = 0
  return (called) => {
    if (called !== method) return
    calls += 1
    if (calls === nth) throw new StoreUnavailableError('the network is gone')
  }
}

async function documentIds(collection: DocumentCollection): Promise<readonly string[]> {
  return (await collection.readPartition('group')).documents.map(({ id }) => id)
}

test('LE-14 a collection with another partition key is refused by name', async () => {
  const clock = new StoreTime()
  for (const partitionKeyPaths of [['/id'], ['/partitionKey', '/id'], ['/partitionkey']]) {
    const collection = new FakeDocumentCollection({ clock, id: 'cities', partitionKeyPaths })
    const opening = new DocumentLeaseStore(collection, { clock }).openGroup('group')
    await expect(opening).rejects.toMatchObject(STORAGE)
    await expect(opening).rejects.toThrow(/"cities".*\/partitionKey/)
  }
})

test('LE-14 a missing collection is created by many hosts at once; where nobody can or may, an error says so', async () => {
  const { open, faults } = stage()
  let exists = false
  faults.before = (method) => {
    if (!exists && method === 'readFeedRanges')
      throw new ResourceNotFoundError('collection', 'leases')
  }
  await expect(open()).rejects.toMatchObject(STORAGE)
  const forbidden = Object.assign(new Error('not permitted'), { code: 'ERR_FORBIDDEN' })
  const refused = open({ createIfMissing: () => Promise.reject(forbidden) })
  await expect(refused).rejects.toMatchObject({ ...STORAGE, cause: forbidden })
  const createIfMissing = async (): Promise<void> => {
    await Promise.resolve()
    if (exists) throw Object.assign(new Error('exists'), { code: 'ERR_EXISTS' })
    exists = true
  }
  const groups = await Promise.all([1, 2, 3].map(() => open({ createIfMissing })))
  expect(groups).toHaveLength(3)
})

test('documents of something else under the group’s name are refused and left alone', async () => {
  const { collection, open } = stage()
  const foreign = { id: 'group', partitionKey: 'group', mine: true }
  await collection.create(foreign)
  await expect(open()).rejects.toMatchObject(STORAGE)
  const { document } = await collection.read('group', 'group')
  expect(document).toMatchObject(foreign)
})

test('LE-2 the identity of the collection is the store’s', () => {
  const { collection } = stage()
  expect(new DocumentLeaseStore(collection).collectionIdentity).toBe(collection.identity)
})

test('transport errors are coded, and each operation may be repeated', async () => {
  const { open, faults } = stage()
  const group = await open()
  const held = await ownedGroup(group, A, 3)
  const checkpoints = held.map((lease) => ({ ...lease, checkpoint: leasePosition(4) }))
  faults.after = failNth('batch', 1)
  await expect(group.checkpoint({ ...A, checkpoints })).rejects.toMatchObject(UNAVAILABLE)
  expect(await group.checkpoint({ ...A, checkpoints })).toEqual(['stored', 'stored', 'stored'])
  faults.before = failNth('readPartition', 1)
  await expect(group.read()).rejects.toMatchObject(UNAVAILABLE)
  faults.after = failNth('batch', 1)
  await expect(group.sync(syncRequest(A, 'beat'))).rejects.toMatchObject(UNAVAILABLE)
  expect(await group.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'ok' })
})

test('a creator that dies on the way leaves nothing that readers see, and the next one cleans up', async () => {
  const { collection, open, faults } = stage()
  const [group, other] = [await open(), await open()]
  faults.before = failNth('batch', 4)
  await expect(group.create(newLeases(250))).rejects.toMatchObject(UNAVAILABLE)
  expect((await group.read()).leases).toEqual([])
  expect((await documentIds(collection)).length).toBeGreaterThan(200)
  // It waits for the first one, which never comes back.
  const created = await other.create(newLeases(120))
  expect(created).toHaveLength(120)
  expect(await group.create(newLeases(9))).toEqual(created)
  const leaseDocuments = (await documentIds(collection)).filter((id) => id.startsWith('lease-'))
  expect(leaseDocuments).toHaveLength(120)
})

test('of hosts that create a big set at once one writes it, the others wait for it', async () => {
  const { collection, open } = stage()
  const groups = await Promise.all(Array.from({ length: 10 }, () => open()))
  collection.requests.clear()
  const sets = await Promise.all(groups.map((group) => group.create(newLeases(1_000))))
  for (const set of sets) expect(set).toEqual(sets[0])
  // Ten chunks and the name; the others' attempts to be first.
  expect(collection.requests.get('batch')).toBeLessThan(25)
})

test('LE-8 a discard that dies half-way is finished by whoever comes next, with rising epochs', async () => {
  for (const nth of [1, 2, 3]) {
    const { collection, open, faults } = stage()
    const group = await open()
    const held = await ownedGroup(group, A, 150)
    const highest = Math.max(...held.map(({ epoch }) => epoch))
    faults.after = failNth('batch', nth)
    await expect(group.discard('token')).rejects.toMatchObject(UNAVAILABLE)
    const other = await open()
    expect((await other.read()).leases).toEqual([])
    await other.create(newLeases(150))
    const next = await other.create(newLeases(1))
    expect(next).toHaveLength(150)
    expect(await other.discard('token')).toBe(false)
    const { membershipVersion } = await other.read()
    const leaseIds = next.map(({ id }) => id)
    await other.plan({
      membershipVersion,
      targets: new Map(leaseIds.map((leaseId) => [leaseId, 'a'])),
    })
    const again = await other.acquire({ ...A, leaseIds })
    expect(again).toHaveLength(150)
    expect(Math.min(...again.map(({ epoch }) => epoch))).toBeGreaterThan(highest)
    const leaseDocuments = (await documentIds(collection)).filter((id) => id.startsWith('lease-'))
    expect(leaseDocuments).toHaveLength(150)
  }
})

test('LE-3 a host that is replaced, or replanned, while it acquires gets nothing', async () => {
  const A2 = hostIdentity('a', 'a-2')
  const overtake = {
    replaced: async (group: LeaseGroup): Promise<void> => {
      await group.sync(syncRequest(A2, 'join'))
    },
    replanned: async (group: LeaseGroup): Promise<void> => {
      const reply = await group.sync(syncRequest(hostIdentity('b'), 'join'))
      const membershipVersion = reply.kind === 'ok' ? reply.membershipVersion : -1
      expect(await group.plan({ membershipVersion, targets: new Map() })).toBe(true)
    },
  }
  for (const happens of [overtake.replaced, overtake.replanned]) {
    const { open, faults } = stage()
    const [group, other] = [await open(), await open()]
    const held = await ownedGroup(group, A, 3)
    await group.release({ ...A, releases: held })
    let overtaken = 0
    // After the host read what it decides on, before it writes.
    faults.after = async (method) => {
      if (method !== 'readPartition' || overtaken > 0) return
      overtaken += 1
      await happens(other)
    }
    const leaseIds = held.map(({ leaseId }) => leaseId)
    expect(await group.acquire({ ...A, leaseIds })).toEqual([])
    expect(overtaken).toBe(1)
    expect((await other.read()).leases.every(({ owner }) => owner === undefined)).toBe(true)
  }
})

test('LE-13 a heartbeat is one write and one read, a checkpoint one write, whatever the number of leases', async () => {
  const { collection, open } = stage()
  const group = await open()
  const held = await ownedGroup(group, A, 100)
  collection.requests.clear()
  await group.sync(syncRequest(A, 'beat'))
  expect(Object.fromEntries(collection.requests)).toEqual({ read: 1, batch: 1 })
  collection.requests.clear()
  const checkpoints = held.map((lease) => ({ ...lease, checkpoint: leasePosition(4) }))
  await group.checkpoint({ ...A, checkpoints })
  expect(Object.fromEntries(collection.requests)).toEqual({ batch: 1 })
})

test('checkpoints write no document but those of their leases', async () => {
  const { collection, open } = stage()
  const group = await open()
  const [first, second] = await ownedGroup(group, A, 2)
  if (first === undefined || second === undefined) throw new Error('two leases were acquired')
  const before = (await collection.readPartition('group')).documents
  await group.checkpoint({ ...A, checkpoints: [{ ...first, checkpoint: leasePosition(1) }] })
  const after = (await collection.readPartition('group')).documents
  const changed = after.filter(({ _etag }, index) => _etag !== before[index]?._etag)
  expect(changed.map(({ id }) => id)).toEqual([expect.stringContaining(first.leaseId)])
})

test('a host that is overtaken for ever gives up with a coded error', async () => {
  const { collection, open } = stage()
  const group = await open()
  await group.sync(syncRequest(A, 'join'))
  const read = collection.read.bind(collection)
  // Its answers are out of date when they arrive.
  collection.read = async (...args) => {
    const answer = await read(...args)
    if (answer.document !== undefined) await collection.upsert(answer.document)
    return answer
  }
  await expect(group.sync(syncRequest(A, 'beat'))).rejects.toMatchObject(UNAVAILABLE)
  expect(collection.requests.get('batch')).toBeLessThan(100)
  collection.read = read
  expect(await group.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'ok' })
})

test('an aborted call rejects with the reason', async () => {
  const { open, faults } = stage()
  const group = await open()
  const abort = new AbortController()
  const reason = new Error('not needed any more')
  faults.after = () => abort.abort(reason)
  await expect(group.sync(syncRequest(A, 'join'), abort.signal)).rejects.toBe(reason)
  await expect(group.read(abort.signal)).rejects.toBe(reason)
})

test('what a host of an older release stored is read: no pause, no standby, no refusals, no attempts', async () => {
  const { collection, open } = stage()
  const group = await open()
  const [lease] = await ownedGroup(group, A, 1)
  if (lease === undefined) throw new Error('a lease was acquired')
  const { document } = await collection.read('group', 'group')
  if (document === undefined) throw new Error('the group has a document')
  const older = Object.fromEntries(Object.entries(document).filter(([name]) => name !== 'paused'))
  expect(Object.keys(older).length).toBe(Object.keys(document).length - 1)
  await collection.upsert({ ...older, id: 'group' })
  const before = await group.read()
  expect(before.paused).toBe(false)
  expect(before.hosts).toMatchObject([A])
  expect(before.leases[0]?.checkpoint.attempts).toBeUndefined()
  const beat = syncRequest(A, 'beat')
  const request = { ...beat, profile: { ...beat.profile, standby: false, refuses: [] } }
  expect(await group.sync(request)).toMatchObject({ membershipVersion: before.membershipVersion })
})

test('a position whose attempts nobody can read counts all the same', async () => {
  const { open } = stage()
  const group = await open()
  const [lease] = await ownedGroup(group, A, 1)
  if (lease === undefined) throw new Error('a lease was acquired')
  const checkpoint = { ...leasePosition(7), attempts: { count: NaN, size: 1 } }
  const checkpoints = [{ leaseId: lease.leaseId, epoch: lease.epoch, checkpoint }]
  expect(await group.checkpoint({ ...A, checkpoints })).toEqual(['stored'])
  expect((await group.read()).leases[0]?.checkpoint).toEqual(leasePosition(7))
})

test('TTL-14 a machine that dies takes positions only, and no flush succeeds before they are stored again', async () => {
  const { collection, open } = stage()
  const group = await open()
  const [first, second] = await ownedGroup(group, A, 2)
  if (first === undefined || second === undefined) throw new Error('two leases were acquired')
  const store = (lease: HeldLease, lsn: number, attempts?: BatchAttempts): Promise<unknown> =>
    group.checkpoint({
      ...A,
      checkpoints: [{ ...lease, checkpoint: { ...leasePosition(lsn), attempts } }],
    })
  await store(first, 4, { count: 1, size: 1 })
  expect(collection.unsyncedCommits).toBe(0)
  // That they are over must not be forgotten either.
  await store(first, 5)
  expect(collection.unsyncedCommits).toBe(0)
  await store(first, 6)
  await store(second, 7)
  expect(collection.unsyncedCommits).toBe(2)
  collection.crash({ kept: 1 })
  await expect(group.flush?.()).rejects.toMatchObject(UNAVAILABLE)
  await expect(group.flush?.()).rejects.toMatchObject(UNAVAILABLE)
  expect((await group.read()).leases.map(({ checkpoint }) => checkpoint.lsn)).toEqual([6, 0])
  await store(second, 7)
  await group.flush?.()
  collection.crash({ kept: 0 })
  expect((await group.read()).leases.map(({ checkpoint }) => checkpoint.lsn)).toEqual([6, 7])
})

test('TTL-14 a flush does not count what was stored again while it was under way', async () => {
  const { collection, open, faults } = stage()
  const group = await open()
  const [lease] = await ownedGroup(group, A, 1)
  if (lease === undefined) throw new Error('a lease was acquired')
  const store = (lsn: number): Promise<unknown> =>
    group.checkpoint({ ...A, checkpoints: [{ ...lease, checkpoint: leasePosition(lsn) }] })
  await store(4)
  collection.crash({ kept: 0 })
  faults.after = async (method) => {
    if (method !== 'flush') return
    faults.after = () => {}
    await group.read()
    await store(5)
  }
  await expect(group.flush?.()).rejects.toMatchObject(UNAVAILABLE)
  expect(collection.unsyncedCommits).toBe(1)
  await group.flush?.()
  expect(collection.unsyncedCommits).toBe(0)
})

test('closing ends the wait for hints', async () => {
  const { collection, open } = stage()
  const group = await open()
  let waiting = 0
  const wait = collection.waitForCommit.bind(collection)
  collection.waitForCommit = async (request) => {
    waiting += 1
    try {
      return await wait({ ...request, afterLsn: lsn(Number.MAX_SAFE_INTEGER) })
    } finally {
      waiting -= 1
    }
  }
  group.subscribe(() => {})
  await expect.poll(() => waiting).toBe(1)
  await group.close()
  expect(waiting).toBe(0)
})
