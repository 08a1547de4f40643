import type { Container, Item } from '@azure/cosmos'
import { exportV3Leases, importV3Leases, type V3Reader } from '@tidemark/cosmos'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  MemoryLeaseStore,
  ProcessorGroup,
} from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, type Interop } from '../interop/interop.fixture.ts'
import {
  dotnetIntervalLease,
  dotnetPkRangeLease,
  dotnetV2Lease,
  javaIntervalLease,
  javaPkRangeLease,
  writeLeases,
} from './v3-documents.fixture.ts'

const MIDDLE = '20000000000000000000000000000000'
const DEAD = { owner: 'a-killed-host' }

let interop: Interop
let monitored: Container
let orders: Collection
let leaseContainer: Container
let leases: MemoryLeaseStore
let prefix: Readonly<Record<'rids' | 'names', string>>
let rid: string
beforeEach(async () => {
  interop = await openInterop()
  monitored = await interop.container({
    throughput: 20_000,
    partitionKey: { paths: ['/id'], version: 2 },
  })
  orders = interop.store.database('interop').collection(monitored.id)
  leaseContainer = await interop.container({ partitionKey: { paths: ['/id'], version: 2 } })
  leases = new MemoryLeaseStore()
  rid = String((await monitored.read()).resource?._rid)
  const databaseRid = String((await interop.database.read()).resource?._rid)
  const { hostname } = new URL(interop.gateway.endpoint)
  prefix = {
    rids: `mirror${hostname}_${databaseRid}_${rid}`,
    names: `mirror${hostname}_interop_${monitored.id}`,
  }
  written = 0
  await write(20)
})
afterEach(() => interop.close())

let written = 0
async function write(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await orders.create({ id: `o${written++}` })
}

const processor = () => ({
  monitored,
  leaseContainer,
  processorName: 'mirror',
  endpoint: interop.gateway.endpoint,
})

function importInto(
  group: string,
  options: Partial<Parameters<typeof importV3Leases>[0]> = {},
): ReturnType<typeof importV3Leases> {
  return importV3Leases({ ...processor(), leases, group, feed: orders, ...options })
}

async function positionsOf(group: string): Promise<Readonly<Record<string, number>>> {
  await using opened = new ProcessorGroup({ leases, group })
  const { positions } = await opened.snapshot()
  return Object.fromEntries(positions.map(({ range, lsn }) => [range, lsn]))
}

/** What is in the lease container, by id without the prefix. */
async function inContainer(): Promise<Readonly<Record<string, Record<string, unknown>>>> {
  const { resources } = await leaseContainer.items.readAll<Record<string, unknown>>().fetchAll()
  return Object.fromEntries(
    resources.map((one) => [String(one['id']).replace(/^mirror.*?(?=\.(\.|info|lock))/, ''), one]),
  )
}

describe('import', () => {
  test('.NET leases of pkranges, with and without their keys and quotes', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetPkRangeLease({ prefix: prefix.rids, etag: '"3"' }, { id: '0' }),
      dotnetPkRangeLease(
        { prefix: prefix.rids, etag: '2' },
        { id: '1', range: { min: MIDDLE, max: 'FF' } },
      ),
    ])
    const moved = await importInto('mirror')
    expect(moved.map(({ leaseId, toLsn }) => [leaseId, toLsn])).toEqual([
      [`-${MIDDLE}`, 3],
      [`${MIDDLE}-FF`, 2],
    ])
    expect(await positionsOf('mirror')).toEqual({ [`-${MIDDLE}`]: 3, [`${MIDDLE}-FF`]: 2 })
  })

  test('a group goes on exactly where the other processor stopped', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"2"' }, { min: '', max: MIDDLE }),
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"4"' }, { min: MIDDLE, max: 'FF' }),
    ])
    await importInto('mirror')
    const seen: number[] = []
    const host = new ChangeFeedProcessorHost({ group: 'mirror', feed: orders, leases })
    await host.runUntilCaughtUp((context, changes) => {
      for (const { lsn } of changes) {
        expect(lsn).toBeGreaterThan(context.range.minInclusive === '' ? 2 : 4)
        seen.push(lsn)
      }
    })
    expect(seen).toHaveLength(20 - 2 - 4)
  })

  test('leases that V2 left', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    expect(Object.values(await positionsOf('mirror'))).toEqual([1, 2])
  })

  test('Java leases of pkranges, whose ids have names', async () => {
    await writeLeases(leaseContainer, prefix.names, [
      javaPkRangeLease({ prefix: prefix.names, etag: '"1"' }, '0'),
      javaPkRangeLease({ prefix: prefix.names, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    expect(Object.values(await positionsOf('mirror'))).toEqual([1, 2])
  })

  test('Java leases of intervals, one of which has met a split', async () => {
    const quarter = '0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'
    await writeLeases(leaseContainer, prefix.rids, [
      javaIntervalLease(
        { prefix: prefix.rids, etag: '"1"' },
        { min: '', max: MIDDLE },
        {
          rid,
          parts: [
            { min: '', max: quarter, etag: '"3"' },
            { min: quarter, max: MIDDLE, etag: '"1"' },
          ],
        },
      ),
      javaIntervalLease({ prefix: prefix.rids, etag: '"2"' }, { min: MIDDLE, max: 'FF' }, { rid }),
    ])
    await importInto('mirror')
    expect(await positionsOf('mirror')).toEqual({
      [`-${quarter}`]: 3,
      [`${quarter}-${MIDDLE}`]: 1,
      [`${MIDDLE}-FF`]: 2,
    })
  })

  test('leases of pkranges that were split since hand their position to the children', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetPkRangeLease({ prefix: prefix.rids, etag: '"3"' }, { id: '0' }),
      dotnetPkRangeLease({ prefix: prefix.rids, etag: '"2"' }, { id: '1' }),
    ])
    await interop.split(monitored, '0')
    await importInto('mirror')
    expect(Object.values(await positionsOf('mirror'))).toEqual([3, 3, 2])
  })

  test('a preview creates nothing', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    expect(await importInto('mirror', { purpose: 'preview' })).toHaveLength(2)
    expect(await positionsOf('mirror')).toEqual({})
  })

  test('any lease store takes them, such as documents', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    const own = await interop.store
      .database('interop')
      .createCollectionIfNotExists({ id: 'own-leases', partitionKey: '/partitionKey' })
    const store = new DocumentLeaseStore(own)
    await importInto('mirror', { leases: store })
    await using group = new ProcessorGroup({ leases: store, group: 'mirror' })
    expect((await group.status()).leases.map(({ lsn }) => lsn)).toEqual([1, 2])
  })

  test('keys without a position start only where the caller says', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: null }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await expect(importInto('mirror')).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('1 leases have no position'),
    })
    await importInto('mirror', { startWithout: 'beginning' })
    expect(Object.values(await positionsOf('mirror'))).toEqual([0, 2])
  })
})

describe('import is refused', () => {
  test('while hosts of the other processor are alive, by the clock of the server', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"', ...DEAD }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await expect(importInto('mirror')).rejects.toMatchObject({
      code: 'ERR_LEASES_IN_USE',
      message: expect.stringContaining('a-killed-host'),
    })
    expect(await positionsOf('mirror')).toEqual({})
    // Nothing was heard of it for this long: the store's clock, which writes by, stands still.
    await expect.poll(() => importInto('mirror', { expirationIntervalMs: 1 })).toHaveLength(2)
  })

  test('when leases do not cover every key, or overlap', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"1"' }, { min: '', max: MIDDLE }),
    ])
    await expect(importInto('mirror')).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(`${MIDDLE}-FF`),
    })
    const twice = dotnetIntervalLease({ prefix: prefix.rids, etag: '"1"' }, { min: '', max: 'FF' })
    await leaseContainer.items.create(twice)
    await expect(importInto('mirror')).rejects.toMatchObject({
      code: 'ERR_LEASE_STORAGE',
      message: expect.stringContaining('have the same keys'),
    })
    expect(await positionsOf('mirror')).toEqual({})
  })

  test('when the group has leases', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    await expect(importInto('mirror')).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('group "mirror" has leases already (2), and they stay'),
    })
  })

  test('of another processor, and what there is is said', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
    ])
    await expect(importInto('mirror', { processorName: 'other' })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(prefix.rids),
    })
  })

  test('of a position that the container has not reached', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1000"' }, '1'),
    ])
    await expect(importInto('mirror')).rejects.toMatchObject({ code: 'ERR_INVALID_CONTINUATION' })
  })

  test('of leases of another container', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      javaIntervalLease(
        { prefix: prefix.rids, etag: '"1"' },
        { min: '', max: 'FF' },
        { rid: 'other' },
      ),
    ])
    await expect(importInto('mirror')).rejects.toMatchObject({ code: 'ERR_LEASE_STORAGE' })
  })

  test('into leases with the prefix of the processor, beside its own: hosts that nobody imported for are refused', async () => {
    const own = await interop.store
      .database('interop')
      .createCollectionIfNotExists({ id: 'own', partitionKey: '/partitionKey' })
    const container = interop.database.container('own')
    const document = { prefix: prefix.rids, etag: '"2"' }
    await writeLeases(container, prefix.rids, [
      dotnetIntervalLease(document, { min: '', max: MIDDLE }),
      dotnetIntervalLease(document, { min: MIDDLE, max: 'FF' }),
    ])
    const store = new DocumentLeaseStore(own, { leaseIdPrefix: `${prefix.rids}..` })
    const host = (group: string): ChangeFeedProcessorHost =>
      new ChangeFeedProcessorHost({ group, feed: orders, leases: store })
    await expect(host('mirror').runUntilCaughtUp(() => undefined)).rejects.toMatchObject({
      code: 'ERR_LEASE_STORAGE',
      message: expect.stringContaining('leases import --from-v3'),
    })
    await importInto('mirror', { leaseContainer: container, leases: store })
    const { changes } = await host('mirror').runUntilCaughtUp(() => undefined)
    expect(changes).toBeGreaterThan(0)
  })

  test('of our own leases in V3’s form', async () => {
    const own = await interop.store
      .database('interop')
      .createCollectionIfNotExists({ id: 'own', partitionKey: '/partitionKey' })
    const store = new DocumentLeaseStore(own, { leaseIdPrefix: `${prefix.rids}..` })
    const host = new ChangeFeedProcessorHost({ group: 'mirror', feed: orders, leases: store })
    await host.runUntilCaughtUp(() => undefined)
    const options = { leaseContainer: interop.database.container('own') }
    await expect(importInto('mirror', options)).rejects.toMatchObject({ code: 'ERR_LEASE_STORAGE' })
  })
})

describe('export', () => {
  const exportTo = (
    reader: V3Reader,
    options: Partial<Parameters<typeof exportV3Leases>[0]> = {},
  ): ReturnType<typeof exportV3Leases> =>
    exportV3Leases({ ...processor(), leases, group: 'mirror', reader, ...options })

  /** A group that has worked for a while. */
  async function work(options: { readonly leasesPerRange?: number } = {}): Promise<void> {
    const feedOptions = { startFromBeginning: true, ...options }
    const host = new ChangeFeedProcessorHost({ group: 'mirror', feed: orders, leases, feedOptions })
    await host.runUntilCaughtUp(() => undefined)
  }

  test.each<V3Reader>(['dotnet', 'java', 'javaHandleChanges'])(
    'for %s: what was written is imported at the same positions, and leads to what is left',
    async (reader) => {
      await work()
      const exported = await exportTo(reader)
      await write(5)
      await importInto('back', { reader })
      expect(await positionsOf('back')).toEqual(await positionsOf('mirror'))
      expect(exported.map(({ lsn }) => lsn)).toEqual(Object.values(await positionsOf('mirror')))
      const etags = exported.map(({ lsn }) => `"${lsn}"`)
      const left = await Promise.all(etags.map((etag, index) => remaining(String(index), etag)))
      expect(left.reduce((sum, count) => sum + count, 0)).toBe(5)
    },
  )

  test('.NET gets a lease of an interval for each of ours, and the mark that all are there', async () => {
    await work({ leasesPerRange: 2 })
    const exported = await exportTo('dotnet')
    expect(exported).toHaveLength(4)
    const written = await inContainer()
    expect(Object.keys(written).sort()).toEqual(
      [
        '.info',
        ...exported.map(({ range }) => `..${range.minInclusive}-${range.maxExclusive}`),
      ].sort(),
    )
    const [first] = exported
    expect(written[`..${first?.range.minInclusive}-${first?.range.maxExclusive}`]).toMatchObject({
      id: first?.id,
      version: 1,
      LeaseToken: `${first?.range.minInclusive}-${first?.range.maxExclusive}`,
      FeedRange: { Range: { min: first?.range.minInclusive, max: first?.range.maxExclusive } },
      Owner: null,
      ContinuationToken: `"${first?.lsn}"`,
      Mode: 'Incremental Feed',
      properties: {},
    })
    expect(first?.id.startsWith(`${prefix.rids}..`)).toBe(true)
  })

  test('older Java gets one lease for each pkrange, at the lowest position in it', async () => {
    const quarter = '0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"3"' }, { min: '', max: quarter }),
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"1"' }, { min: quarter, max: MIDDLE }),
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"2"' }, { min: MIDDLE, max: 'FF' }),
    ])
    await importInto('mirror')
    leaseContainer = await interop.container({ partitionKey: { paths: ['/id'], version: 2 } })
    await exportTo('javaHandleChanges')
    const written = await inContainer()
    expect(Object.keys(written).sort()).toEqual(['..0', '..1', '.info'])
    expect([written['..0'], written['..1']]).toMatchObject([
      { ContinuationToken: '"1"', Owner: null, LeaseToken: '0' },
      { ContinuationToken: '"2"', Owner: null, LeaseToken: '1' },
    ])
  })

  test('a lease over pkranges that were split since is cut, so that none of them seems to have no lease', async () => {
    await work()
    await interop.split(monitored, '0')
    const exported = await exportTo('dotnet')
    const ranges = await orders.readFeedRanges()
    expect(exported.map(({ range }) => range.minInclusive)).toEqual(
      ranges.map(({ minInclusive }) => minInclusive),
    )
  })

  test('the stopped processor’s own leases are replaced, and the group stays paused', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetPkRangeLease({ prefix: prefix.rids, etag: '"1"' }, { id: '0' }),
      dotnetPkRangeLease({ prefix: prefix.rids, etag: '"2"' }, { id: '1' }),
    ])
    await importInto('mirror')
    const seen: number[] = []
    const host = new ChangeFeedProcessorHost({ group: 'mirror', feed: orders, leases })
    await host.runUntilCaughtUp((_, changes) => {
      seen.push(...changes.map(({ lsn }) => lsn))
    })
    await exportTo('dotnet')
    expect(Object.keys(await inContainer()).sort()).toEqual(
      [`..-${MIDDLE}`, `..${MIDDLE}-FF`, '.info', '.lock'].sort(),
    )
    await using group = new ProcessorGroup({ leases, group: 'mirror' })
    expect((await group.status()).paused).toBe(true)
    // Once more: what is there is its own.
    expect(await exportTo('dotnet')).toHaveLength(2)
  })

  test('a lease that has processed nothing has no position there', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: null }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror', { startWithout: 'beginning' })
    await exportTo('dotnet')
    expect((await inContainer())[`..-${MIDDLE}`]).toMatchObject({ ContinuationToken: null })
    await importInto('back', { startWithout: 'beginning' })
    expect(await positionsOf('back')).toEqual(await positionsOf('mirror'))
  })

  test('is refused while our hosts are alive, and changes nothing', async () => {
    const host = new ChangeFeedProcessorHost({
      group: 'mirror',
      feed: orders,
      leases,
      hostName: 'w1',
    })
    await host.registerObserver({ processChanges: () => undefined })
    await expect(exportTo('dotnet')).rejects.toMatchObject({
      code: 'ERR_LEASES_IN_USE',
      message: expect.stringContaining('w1'),
    })
    expect(await inContainer()).toEqual({})
    await using group = new ProcessorGroup({ leases, group: 'mirror' })
    expect((await group.status()).paused).toBe(false)
    await host.unregisterObservers()
  })

  test('is refused while the other processor’s hosts are alive, and over what is no lease of it', async () => {
    await work()
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"', ...DEAD }, '0'),
    ])
    await expect(exportTo('dotnet')).rejects.toMatchObject({ code: 'ERR_LEASES_IN_USE' })
    await leaseContainer.item(`${prefix.rids}..0`, `${prefix.rids}..0`).delete()
    await leaseContainer.items.create({ id: `${prefix.rids}..0`, LeaseToken: 'a cat' })
    await expect(exportTo('dotnet')).rejects.toMatchObject({ code: 'ERR_LEASE_STORAGE' })
    await using group = new ProcessorGroup({ leases, group: 'mirror' })
    expect((await group.status()).paused).toBe(false)
  })

  test('is refused for containers that the SDKs do not use, and a group without leases', async () => {
    const other = await interop.container({ partitionKey: { paths: ['/pk'], version: 2 } })
    await expect(exportTo('dotnet', { leaseContainer: other })).rejects.toMatchObject({
      code: 'ERR_LEASE_STORAGE',
    })
    const graph = await interop.container({
      partitionKey: { paths: ['/partitionKey'], version: 2 },
    })
    await expect(exportTo('java', { leaseContainer: graph })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
    })
    await expect(exportTo('dotnet')).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  })

  test('is refused when a host of the other processor takes a lease meanwhile', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"1"' }, { min: '', max: MIDDLE }),
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"2"' }, { min: MIDDLE, max: 'FF' }),
    ])
    await importInto('mirror')
    const id = `${prefix.rids}..${MIDDLE}-FF`
    const taken = { ...(await leaseContainer.item(id, id).read()).resource, Owner: 'w' }
    const racing = withItem((item) => ({
      replace: async (body, options) => {
        if (item.id === id) await item.replace(taken)
        return item.replace(body, options)
      },
    }))
    await expect(exportTo('dotnet', { leaseContainer: racing })).rejects.toMatchObject({
      code: 'ERR_LEASES_CHANGED',
      message: expect.stringContaining(id),
    })
    expect((await inContainer())[`..${MIDDLE}-FF`]).toMatchObject({ Owner: 'w' })
    await using group = new ProcessorGroup({ leases, group: 'mirror' })
    expect((await group.status()).paused).toBe(false)
  })

  test('is refused when a host of the other processor takes a lease that is to go', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    // Which of them goes first depends on the hashes of their ids.
    let taken = ''
    const racing = withItem((item) => ({
      delete: async (options) => {
        taken = item.id
        await item.replace({ ...(await item.read()).resource, id: item.id, Owner: 'w' })
        return item.delete(options)
      },
    }))
    await expect(exportTo('dotnet', { leaseContainer: racing })).rejects.toMatchObject({
      code: 'ERR_LEASES_CHANGED',
    })
    const { resource } = await leaseContainer.item(taken, taken).read()
    expect(resource).toMatchObject({ id: taken, Owner: 'w' })
  })

  test('that breaks off leaves a lease for every key, and can be repeated', async () => {
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetV2Lease({ prefix: prefix.rids, etag: '"1"' }, '0'),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    const failing = withItem(() => ({ delete: () => Promise.reject(new Error('no network')) }))
    await expect(exportTo('dotnet', { leaseContainer: failing })).rejects.toThrow('no network')
    expect(Object.keys(await inContainer())).toEqual(
      expect.arrayContaining(['..0', '..1', `..-${MIDDLE}`, `..${MIDDLE}-FF`]),
    )
    await exportTo('dotnet')
    await importInto('back')
    expect(await positionsOf('back')).toEqual(await positionsOf('mirror'))
  })

  test('.NET’s containers for Graph accounts, partitioned by /partitionKey, work both ways', async () => {
    leaseContainer = await interop.container({
      partitionKey: { paths: ['/partitionKey'], version: 2 },
    })
    await writeLeases(leaseContainer, prefix.rids, [
      dotnetIntervalLease({ prefix: prefix.rids, etag: '"1"' }, { min: '', max: MIDDLE }),
      dotnetV2Lease({ prefix: prefix.rids, etag: '"2"' }, '1'),
    ])
    await importInto('mirror')
    await exportTo('dotnet')
    await exportTo('dotnet')
    await importInto('back')
    expect(await positionsOf('back')).toEqual(await positionsOf('mirror'))
  })
})

interface ItemCalls {
  readonly replace?: (body: { id: string }, options?: object) => Promise<unknown>
  readonly delete?: (options?: object) => Promise<unknown>
}

/** The lease container, some of whose calls on items are others. */
function withItem(calls: (item: Item) => ItemCalls): Container {
  const item = (id: string, partitionKey: string) => {
    const real = leaseContainer.item(id, partitionKey)
    return {
      replace: real.replace.bind(real),
      delete: real.delete.bind(real),
      ...calls(real),
    }
  }
  return new Proxy(leaseContainer, {
    get: (target, name): unknown => (name === 'item' ? item : Reflect.get(target, name, target)),
  })
}

/** Changes that a V3 processor reads in a pkrange from a lease's etag on. */
async function remaining(pkRangeId: string, etag: string): Promise<number> {
  const { status, json } = await interop.send({
    path: `dbs/interop/colls/${monitored.id}/docs`,
    headers: {
      'a-im': 'Incremental Feed',
      'if-none-match': etag,
      'x-ms-documentdb-partitionkeyrangeid': pkRangeId,
    },
  })
  return status === 304 ? 0 : ((json?.['Documents'] ?? []) as readonly unknown[]).length
}
