import { expect, test } from 'vitest'
import type { ChangeFeedSource, DocumentBody } from '@tidemark/contracts'
import {
  FakeDocumentCollection,
  FakeFeed,
  SimulatedClock,
  type FakeDocument,
} from '@tidemark/testing'
import { ProcessorGroup } from '../administration/processor-group.ts'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { LeaseMemory } from '../lease-stores/lease-memory.ts'
import { leaseStoreOn } from '../lease-stores/memory-lease-store.ts'
import { ChangeFeedProcessorHost } from './change-feed-processor-host.ts'
import type { HostOptions } from './host-options.ts'

const VANISHED = { code: 'ERR_LEASES_VANISHED', retryable: false }

/** As an account's: it keeps no positions of groups. */
function withoutPositions(feed: FakeFeed): ChangeFeedSource<FakeDocument> {
  return {
    identity: feed.identity,
    description: feed.description,
    supports: feed.supports,
    readRid: () => feed.readRid(),
    readFeedRanges: () => feed.readFeedRanges(),
    resolveStart: (request) => feed.resolveStart(request),
    readPage: (request) => feed.readPage(request),
  }
}

function setUp() {
  const clock = new SimulatedClock()
  const collection = new FakeDocumentCollection({ clock })
  const leases = new DocumentLeaseStore(collection, { clock })
  const source = new FakeFeed({ clock, ranges: 3 })
  const feed = withoutPositions(source)
  const hosts: ChangeFeedProcessorHost<FakeDocument>[] = []
  const until = async (condition: () => boolean): Promise<void> => {
    expect(await clock.advanceUntil(condition, { limitMs: 60_000, stepMs: 50 })).toBe(true)
  }
  const run = async <R>(work: Promise<R>): Promise<R> => {
    let isSettled = false
    work.finally(() => (isSettled = true)).catch(() => {})
    await until(() => isSettled)
    return work
  }
  const start = async (hostOptions: HostOptions = {}) => {
    const seen = new Set<string>()
    const host = new ChangeFeedProcessorHost<FakeDocument>({
      group: 'group',
      feed,
      leases,
      clock,
      hostOptions,
      logger: false,
    })
    hosts.push(host)
    await run(
      host.registerObserver(async (_, changes) => {
        for (const { id } of changes) seen.add(id)
      }),
    )
    return { host, seen, stop: () => run(host.unregisterObservers()) }
  }
  const write = (): void => {
    for (let n = 0; n < 30; n += 1) source.append(`key${n}`)
  }
  const lost = (): DocumentBody[] =>
    [...collection.snapshot().values()].filter((document) => 'leaseId' in document)
  return { clock, collection, leases, feed, start, write, lost, until, run }
}

type World = ReturnType<typeof setUp>

const DAMAGES: readonly {
  readonly name: string
  readonly strike: (world: World) => Promise<unknown>
}[] = [
  {
    name: 'deleted',
    strike: ({ collection, lost }) =>
      Promise.all(lost().map(({ id }) => collection.delete(id, 'group'))),
  },
  {
    name: 'written over by other documents',
    strike: ({ collection, lost }) =>
      Promise.all(
        lost().map(({ id }) =>
          collection.replace(
            Object.assign({ id }, { partitionKey: 'group', Owner: 'net', LeaseToken: '0' }),
          ),
        ),
      ),
  },
  {
    name: 'taken over in another shape',
    strike: ({ collection, lost }) =>
      Promise.all(
        lost().map((document) =>
          collection.replace(Object.assign({}, document, { kind: 'net', Owner: 'net' })),
        ),
      ),
  },
]

test.each(DAMAGES)(
  'a group whose leases were all $name stays where it is until somebody says where it begins',
  async ({ strike }) => {
    const world = setUp()
    const { start, write, leases, feed, clock, run, until } = world
    const before = await start()
    write()
    await until(() => before.seen.size === 30)
    await before.stop()
    await strike(world)
    write()
    await expect(start()).rejects.toMatchObject(VANISHED)
    await expect(start()).rejects.toThrow(
      /refusing to start from "now".*leases restore.*discardExistingLeases/,
    )
    await using group = new ProcessorGroup({ leases, group: 'group', feed, clock })
    await run(group.seek({ to: 'beginning' }))
    const again = await start()
    await until(() => again.seen.size === 60)
    await again.stop()
  },
)

test('a host that stopped as all leases had vanished does not begin anew when it is started again', async () => {
  const world = setUp()
  const { start, write, until } = world
  const { host } = await start()
  await DAMAGES[0]!.strike(world)
  write()
  await until(() => host.health().status === 'stopped')
  expect(host.health().lastError).toMatchObject(VANISHED)
  await expect(start()).rejects.toMatchObject(VANISHED)
  // The operator says so: from now.
  const { seen, stop } = await start({ discardExistingLeases: 'anew' })
  write()
  await until(() => seen.size === 30)
  await stop()
  const again = await start({ discardExistingLeases: 'anew' })
  await again.stop()
})

test('leases of which somebody took all are known to be missing in memory, too', async () => {
  const clock = new SimulatedClock()
  const memory = new LeaseMemory({ fraction: () => 0.5, hex: (bytes) => '0'.repeat(2 * bytes) })
  const group = await leaseStoreOn(memory, { clock }).openGroup('group')
  expect((await group.read()).isEmptied).toBeUndefined()
  const feed = new FakeFeed({ clock, ranges: 2 })
  const leases = await Promise.all(
    feed.ranges.map(async (range) => {
      return { range, checkpoint: await feed.resolveStart({ range, start: 'now' }) }
    }),
  )
  const created = await group.create(leases)
  for (const { id } of created) memory.loseLease('group', id)
  expect(await group.read()).toMatchObject({ isEmptied: true, leases: [] })
  await group.discard('x')
  expect((await group.read()).isEmptied).toBeUndefined()
})
