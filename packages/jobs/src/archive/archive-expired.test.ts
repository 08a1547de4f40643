import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DocumentBody, LeaseStore } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { type Collection } from '@tidemark/store'
import { SimulatedClock, openMemoryStore } from '@tidemark/testing'
import { archiveExpired, type ExpiryArchive } from './archive-expired.ts'
import type { ArchiveEvent } from './archive-events.ts'
import type { ArchiveOptions } from './archive-options.ts'
import { archiveKey, type ArchivedDocument } from './archived-document.ts'
import type { Sink, SinkContext } from '../sync/sink.ts'
import { inTime } from '../in-time.fixture.ts'

interface Session extends DocumentBody {
  readonly user: string
  readonly ttl?: number
}

let clock: SimulatedClock
let store: Store
let source: Collection<Session>
let leases: LeaseStore
let running: ExpiryArchive[]
let events: ArchiveEvent[]

beforeEach(async () => {
  clock = new SimulatedClock()
  store = await openMemoryStore({ clock, maintenance: 'manual' })
  source = await store.database('db').createCollectionIfNotExists<Session>({
    id: 'sessions',
    partitionKey: '/user',
    partitionCount: 2,
    defaultTtl: -1,
    pendingDeletes: { retentionSeconds: 60 },
  })
  leases = new MemoryLeaseStore({ clock })
  running = []
  events = []
})

afterEach(async () => {
  for (const archive of running)
    await inTime(
      clock,
      archive.stop().catch(() => {}),
    )
  await store.close()
})

/** Keeps what it is given; may be told to fail, or to wait. */
class ListSink implements Sink<ArchivedDocument<Session>> {
  readonly batches: (readonly ArchivedDocument<Session>[])[] = []
  before: (context: SinkContext) => Promise<void> | void = () => {}
  after: () => Promise<void> | void = () => {}

  async write(batch: readonly ArchivedDocument<Session>[], context: SinkContext): Promise<void> {
    await this.before(context)
    this.batches.push(batch)
    await this.after()
  }

  get ids(): readonly string[] {
    return this.batches.flat().map(({ id }) => id)
  }

  get distinct(): readonly string[] {
    const keys = new Map(this.batches.flat().map((one) => [archiveKey(one), one.id]))
    return [...keys.values()].toSorted()
  }
}

function archive(
  sink: Sink<ArchivedDocument<Session>>,
  options: Partial<ArchiveOptions<Session>> = {},
) {
  const made = archiveExpired<Session>({
    source,
    sink,
    leases,
    hostName: 'archiver-1',
    clock,
    onEvent: (event) => events.push(event),
    ...options,
  })
  running.push(made)
  return made
}

async function started(
  sink: Sink<ArchivedDocument<Session>>,
  options: Partial<ArchiveOptions<Session>> = {},
): Promise<ExpiryArchive> {
  const made = archive(sink, options)
  await inTime(clock, made.start())
  return made
}

async function expire(count: number, first = 0): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, n) => `s${String(first + n).padStart(3, '0')}`)
  for (const [n, id] of ids.entries()) await source.upsert({ id, user: `u${n % 5}`, ttl: 1 })
  await clock.advance(1_000)
  await store.runMaintenance()
  return ids
}

async function pendingDeletes(): Promise<number> {
  return (await source.readExpiry()).pendingDeletes
}

/** Time enough for the retention, then what is due. */
async function purge(): Promise<number> {
  await clock.advance(61_000)
  return (await store.runMaintenance()).purged
}

describe('archiveExpired', () => {
  test('TTL-14 what is archived is purged, with its last version, key, LSN and instant in the sink', async () => {
    const sink = new ListSink()
    const made = await started(sink)
    const ids = await expire(20)
    await inTime(clock, made.caughtUp())
    expect(sink.ids.toSorted()).toEqual(ids)
    const { rid } = await source.readRecord()
    for (const archived of sink.batches.flat()) {
      expect(archived).toMatchObject({
        collectionRid: rid,
        reason: 'expired',
        partitionKey: archived.document.user,
        document: { id: archived.id, ttl: 1 },
      })
      expect(archived.expiredAtMs).toBe((archived.document._ts + 1) * 1000)
      expect(archived.lsn).toBeGreaterThan(archived.document._lsn)
    }
    expect(await made.progress()).toMatchObject({
      archived: 20,
      pendingDeletes: 20,
      unswept: 0,
      lag: 0,
    })
    expect(await purge()).toBe(20)
    expect(await pendingDeletes()).toBe(0)
  })

  test('TTL-14 nothing is purged before it was archived: retention over, sink stuck, still there; then purged', async () => {
    const sink = new ListSink()
    const gate = Promise.withResolvers<void>()
    sink.before = () => gate.promise
    const made = await started(sink)
    await expire(10)
    expect(await purge()).toBe(0)
    expect(await purge()).toBe(0)
    expect(await pendingDeletes()).toBe(10)
    gate.resolve()
    await inTime(clock, made.caughtUp())
    expect(await purge()).toBe(10)
  })

  test('TTL-14 also while no worker runs: the group is waited for until it is retired', async () => {
    const sink = new ListSink()
    const made = await started(sink)
    expect((await source.readRecord()).definition.pendingDeletes.waitFor).toEqual([
      'archive-db.sessions',
    ])
    await inTime(clock, made.stop())
    await expire(5)
    expect(await purge()).toBe(0)
    const next = await started(sink, { hostName: 'archiver-2' })
    await inTime(clock, next.caughtUp())
    expect(sink.distinct).toHaveLength(5)
    expect(await purge()).toBe(5)

    await inTime(clock, next.retire())
    expect((await source.readRecord()).definition.pendingDeletes.waitFor).toEqual([])
    await expire(5, 100)
    expect(await purge()).toBe(5)
    expect(sink.distinct).toHaveLength(5)
  })

  test('it is registered before anything else: also when no lease can be made', async () => {
    const broken: LeaseStore = {
      description: 'broken',
      openGroup: () => Promise.reject(new Error('no leases today')),
      listGroups: async () => [],
    }
    const made = archive(new ListSink(), { leases: broken, hostOptions: { startTimeoutMs: 1_000 } })
    await expect(inTime(clock, made.start())).rejects.toThrow()
    expect((await source.readRecord()).definition.pendingDeletes.waitFor).toEqual([made.group])
    expect(events.map(({ kind }) => kind)).toContain('registered')
  })

  test('what had expired before the archive began is archived too, unless it was purged', async () => {
    const before = await expire(5)
    const sink = new ListSink()
    const made = await started(sink)
    await inTime(clock, made.caughtUp())
    expect(sink.distinct).toEqual(before)
  })

  test('PH-4 a worker that dies between write and checkpoint leaves duplicates only', async () => {
    const sink = new ListSink()
    const stuck = Promise.withResolvers<void>()
    let first = true
    // Written and durable, but the answer never comes: as a process that was killed right then.
    sink.after = async () => {
      if (!first) return
      first = false
      await stuck.promise
    }
    const hostOptions = { shutdownTimeoutMs: 100, abortGraceMs: 100 }
    const killed = await started(sink, { hostOptions, maxItemCount: 4 })
    const ids = await expire(12)
    await clock.advance(1_000)
    await inTime(clock, killed.stop())
    expect(await purge()).toBeLessThan(12)
    const next = await started(sink, { hostName: 'archiver-2', maxItemCount: 4 })
    await inTime(clock, next.caughtUp())
    expect(sink.distinct).toEqual(ids)
    expect(sink.ids.length).toBeGreaterThan(ids.length)
    stuck.resolve()
    await clock.advance(1_000)
    await purge()
    expect(await pendingDeletes()).toBe(0)
  })

  test('a sink that fails is asked again, and loses nothing', async () => {
    const sink = new ListSink()
    let failures = 0
    sink.before = () => {
      if (failures++ < 5) throw new Error('disk full')
    }
    const made = await started(sink)
    const ids = await expire(10)
    await inTime(clock, made.caughtUp())
    expect(sink.distinct).toEqual(ids)
    const told = events.filter((event) => event.kind === 'failure' && event.what === 'batch')
    expect(told).toHaveLength(5)
  })

  test('several hosts share the ranges; one that goes away is replaced', async () => {
    const sink = new ListSink()
    const first = await started(sink)
    const second = await started(sink, { hostName: 'archiver-2' })
    await clock.advance(10_000)
    const ids = await expire(40)
    await inTime(clock, second.caughtUp())
    expect(sink.distinct).toEqual(ids)
    expect((await first.progress()).archived).toBeGreaterThan(0)
    expect((await second.progress()).archived).toBeGreaterThan(0)
    await inTime(clock, first.stop())
    const more = await expire(20, 500)
    await inTime(clock, second.caughtUp())
    expect(sink.distinct).toEqual([...ids, ...more].toSorted())
    expect(await purge()).toBe(60)
  })

  test('the sink is told which range and owner a batch is of', async () => {
    const contexts: SinkContext[] = []
    const sink = new ListSink()
    sink.before = (context) => {
      contexts.push(context)
    }
    const made = await started(sink)
    await expire(20)
    await inTime(clock, made.caughtUp())
    const epochs = new Map(contexts.map(({ range, fence }) => [range.minInclusive, fence.epoch]))
    expect(epochs.size).toBe(2)
    for (const { source: name, fence } of contexts) {
      expect(name).toBe('db/sessions')
      expect(fence.epoch).toBeGreaterThan(0)
    }
  })

  test('a document that is written again and expires again is archived twice, under two LSNs', async () => {
    const sink = new ListSink()
    const made = await started(sink)
    await expire(1)
    await expire(1)
    await inTime(clock, made.caughtUp())
    expect(sink.ids).toEqual(['s000', 's000'])
    expect(sink.distinct).toHaveLength(2)
  })

  test('TTL-15 what was purged because the group was not waited for is told; resync goes on with the rest', async () => {
    const sink = new ListSink()
    const first = await started(sink)
    await expire(10)
    await inTime(clock, first.caughtUp())
    await inTime(clock, first.retire())
    await expire(10, 100)
    expect(await purge()).toBe(20)
    const second = await started(sink, { hostName: 'archiver-2', onHorizonPassed: 'resync' })
    await expire(10, 200)
    await inTime(clock, second.caughtUp())
    const missed = events.filter(({ kind }) => kind === 'missed')
    expect(missed).toHaveLength(2)
    expect(missed[0]).toMatchObject({ action: 'resync', lsn: expect.any(Number) })
    expect(sink.distinct).toHaveLength(20)
    expect(await purge()).toBe(10)
  })

  test('ST-9 LE-10 ranges that are split and merged meanwhile: everything is archived, then purged', async () => {
    const sink = new ListSink()
    const made = await started(sink, { maxItemCount: 3 })
    const ids = [...(await expire(20))]
    const [range] = await source.readFeedRanges()
    const [low, high] = await source.split(range?.id ?? '')
    ids.push(...(await expire(20, 100)))
    await source.merge(low.id, high.id)
    ids.push(...(await expire(20, 200)))
    await inTime(clock, made.caughtUp())
    expect(sink.distinct).toEqual(ids)
    await clock.advance(2_000)
    expect(await purge()).toBe(60)
  })

  test('stopWhenCaughtUp ends the worker, and finished says so', async () => {
    const ids = await expire(7)
    const sink = new ListSink()
    const made = await started(sink, { stopWhenCaughtUp: true })
    await inTime(clock, made.finished)
    expect(sink.distinct).toEqual(ids)
    await expect(made.progress()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
  })

  test('its signal stops it', async () => {
    const controller = new AbortController()
    const made = await started(new ListSink(), { signal: controller.signal })
    controller.abort()
    await inTime(clock, made.finished)
    await expect(made.caughtUp()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
  })

  test('options that cannot be: ERR_INVALID_OPTION at construction, nothing is registered', async () => {
    const wrong: Partial<ArchiveOptions<Session>>[] = [
      { group: '' },
      { maxItemCount: 0 },
      { sink: {} as Sink<ArchivedDocument<Session>> },
    ]
    for (const options of wrong) {
      expect(() => archiveExpired({ source, sink: new ListSink(), leases, ...options })).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
      )
    }
    expect((await source.readRecord()).definition.pendingDeletes.waitFor).toEqual([])
  })
})
