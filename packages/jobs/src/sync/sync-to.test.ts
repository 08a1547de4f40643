import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FencedWriteError, type Clock, type DeadLetter, type LeaseStore } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { jsonLinesSink } from '../archive/platform/json-lines-sink.ts'
import { readJsonLines } from '../archive/platform/read-json-lines.ts'
import { inTime } from '../in-time.fixture.ts'
import { PatientWriter } from './patient-writer.ts'
import type { SinkEntry } from './sink-entry.ts'
import { SinkRefusedError } from './sink-refused-error.ts'
import { SinkUnavailableError } from './sink-unavailable-error.ts'
import { contextOf, entryOf, stage, type Order } from './sync.fixture.ts'
import type { SyncEvent } from './sync-events.ts'
import { syncTo, type Sync } from './sync-to.ts'

/** Leases of which those of deletes can be lost, as those of a Redis without a disk. */
async function losingLeases(): Promise<{
  readonly leases: LeaseStore
  readonly loseDeletes: () => Promise<void>
}> {
  const kept = new MemoryLeaseStore()
  const name = 'copy/deletes'
  let group = await new MemoryLeaseStore().openGroup(name)
  const losing = new Proxy(group, {
    get(_, property) {
      const member: unknown = Reflect.get(group, property, group)
      if (typeof member !== 'function') return member
      return (...given: unknown[]): unknown => Reflect.apply(member, group, given)
    },
  })
  const leases: LeaseStore = {
    description: 'leases that are lost',
    openGroup: async (wanted, options) =>
      wanted === name ? losing : kept.openGroup(wanted, options),
    listGroups: (options) => kept.listGroups(options),
  }
  const loseDeletes = async (): Promise<void> => {
    group = await new MemoryLeaseStore().openGroup(name)
  }
  return { leases, loseDeletes }
}

describe('JB-6 a function as a sink', () => {
  test('gets every version in order per key, each with a key that is the same when it comes again', async () => {
    await using on = await stage()
    for (let n = 0; n < 30; n += 1) {
      await on.orders.upsert({ id: `o${n % 10}`, customer: `c${n % 3}`, total: n })
    }
    await on.orders.delete('o0', 'c0')
    const runs: SinkEntry<Order>[][] = []
    for (const group of ['one', 'two']) {
      const got: SinkEntry<Order>[] = []
      runs.push(got)
      await on.sync({ sink: async (batch) => void got.push(...batch), group })
    }
    const [first = [], second = []] = runs
    expect(first.map(({ key }) => key).toSorted()).toEqual(second.map(({ key }) => key).toSorted())
    expect(new Set(first.map(({ key }) => key)).size).toBe(first.length)
    for (const { key } of first) expect(key).toMatch(/^[0-9a-f]{64}$/)
    const lsns = first.filter(({ partitionKey }) => partitionKey === 'c1').map(({ lsn }) => lsn)
    expect(lsns).toEqual(lsns.toSorted((a, b) => a - b))
    expect(first.every(({ operation, document }) => operation === 'put' && document)).toBe(true)
  })

  test('gets deletes in order from the log of all versions', async () => {
    await using on = await stage()
    const got: string[] = []
    const worker = on.worker({
      sink: async (batch) => void got.push(...batch.map(({ id, kind }) => `${kind} ${id}`)),
      feedOptions: { mode: 'allVersions' },
    })
    await worker.start()
    await on.orders.upsert({ id: 'a', customer: 'c', total: 1 })
    await on.orders.upsert({ id: 'a', customer: 'c', total: 2 })
    await on.orders.delete('a', 'c')
    await worker.caughtUp()
    expect(got).toEqual(['create a', 'replace a', 'delete a'])
  })

  test('does not get deletes from a second group, because it cannot tell which is newer', async () => {
    await using on = await stage()
    const both = { sink: async () => {}, deletes: 'apply' } as const
    expect(() => on.worker(both)).toThrow(/ordersVersions/)
    const sink = { ordersVersions: true, write: async () => {} }
    const log = { feedOptions: { mode: 'allVersions' } } as const
    expect(() => on.worker({ ...both, sink, ...log })).toThrow(/latest versions/)
  })

  test('is told what it will not see, unless the program says what it wants', async () => {
    await using on = await stage()
    await on.sync({ sink: async () => {}, deletes: undefined })
    await on.sync({ sink: async () => {} })
    const log = { feedOptions: { mode: 'allVersions' } } as const
    await on.sync({ sink: async () => {}, deletes: undefined, group: 'log', ...log })
    const unseen = on.events.filter(({ kind }) => kind === 'deletesUnseen')
    expect(unseen).toEqual([{ kind: 'deletesUnseen', source: 'shop/orders', isLogKept: true }])
  })

  test('refuses one change, which becomes a dead letter; a sink that does not answer makes none', async () => {
    await using on = await stage()
    for (let n = 0; n < 10; n += 1) {
      await on.orders.upsert({ id: `o${n}`, customer: 'c', total: n })
    }
    const letters: DeadLetter<Order>[] = []
    const taken: string[] = []
    let calls = 0
    await on.sync({
      sink: async (batch) => {
        calls += 1
        if (calls <= 3) throw new SinkUnavailableError('away', { retryAfterMs: 5 })
        for (const entry of batch) if (entry.id === 'o4') throw new SinkRefusedError(entry, 'four')
        taken.push(...batch.map(({ id }) => id))
      },
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 }, retryDelayMs: 1 },
    })
    expect(letters.map(({ change }) => change.id)).toEqual(['o4'])
    expect(new Set(taken)).toEqual(new Set([0, 1, 2, 3, 5, 6, 7, 8, 9].map((n) => `o${n}`)))
    const away = on.events.filter((event) => event.kind === 'failure' && event.what === 'sink')
    expect(away).toHaveLength(3)
  })

  test('gets past what it does not take, when that is mended in the source', async () => {
    await using on = await stage()
    const failed = Promise.withResolvers<void>()
    const taken: string[] = []
    const job = on.worker({
      sink: async (batch) => {
        if (batch.some(({ document }) => document?.total === -1)) throw new Error('a bad total')
        taken.push(...batch.map(({ id, document }) => `${id} ${document?.total}`))
      },
      onEvent: ({ kind }) => kind === 'failure' && failed.resolve(),
      hostOptions: { retryDelayMs: 1 },
    })
    await job.start()
    await on.orders.upsert({ id: 'a', customer: 'c', total: -1 })
    await failed.promise
    await on.orders.upsert({ id: 'a', customer: 'c', total: 2 })
    await job.caughtUp()
    expect(taken).toEqual(['a 2'])
  })

  test('that refuses a stale fence ends the range of that worker, and no attempt counts', async () => {
    await using on = await stage()
    await on.orders.upsert({ id: 'a', customer: 'c', total: 1 })
    let isRefused = false
    const letters: DeadLetter<Order>[] = []
    await on.sync({
      sink: async (_, { job, fence }) => {
        if (isRefused) return
        isRefused = true
        throw new FencedWriteError(job, fence.epoch, fence.epoch + 1)
      },
      deadLetters: (letter) => void letters.push(letter),
      hostOptions: {
        failurePolicy: { mode: 'deadLetter', maxAttempts: 1 },
        leaseRenewIntervalMs: 100,
        leaseExpirationIntervalMs: 1_000,
      },
    })
    expect(letters).toEqual([])
  })

  test('rejects the start as its open does, and then nothing runs', async () => {
    await using on = await stage()
    const failing = {
      open: () => Promise.reject(new Error('no such place')),
      write: () => Promise.resolve(),
    }
    await expect(on.worker({ sink: failing }).start()).rejects.toThrow('no such place')
    expect(await on.leases.listGroups()).toEqual([])
  })

  test('is not disturbed by a second start, which is refused', async () => {
    await using on = await stage()
    const got: string[] = []
    const write = async (batch: readonly SinkEntry[]): Promise<void> => {
      got.push(...batch.map(({ operation, id }) => `${operation} ${id}`))
    }
    const worker = on.worker({ sink: { ordersVersions: true, write }, deletes: 'apply' })
    await worker.start()
    await expect(worker.start()).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
    await on.orders.upsert({ id: 'a', customer: 'c', total: 1 })
    await worker.caughtUp()
    await on.orders.delete('a', 'c')
    await worker.caughtUp()
    expect(got).toEqual(['put a', 'delete a'])
  })

  test('ends as a whole when the group that reads its deletes does', async () => {
    await using on = await stage()
    const { leases, loseDeletes } = await losingLeases()
    const worker = on.worker({
      sink: { ordersVersions: true, write: async () => {} },
      deletes: 'apply',
      leases,
      hostOptions: {
        onLeaseStoreLoss: 'stop',
        leaseRenewIntervalMs: 100,
        leaseExpirationIntervalMs: 1_000,
      },
    })
    await worker.start()
    await loseDeletes()
    await expect(worker.finished).rejects.toMatchObject({ code: 'ERR_LEASES_VANISHED' })
    // Nobody has called `stop`.
    await expect(worker.caughtUp()).rejects.toThrow()
    await expect
      .poll(() => on.events.filter(({ kind }) => kind === 'rangeReleased'))
      .toHaveLength(2)
  })

  test('options that cannot be right are refused by name', () => {
    for (const name of ['feed', 'sink', 'leases', 'group', 'deletes']) {
      const options = { [name]: name === 'group' ? 5 : 'no' } as never
      expect(() => syncTo(options)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
    }
  })
})

describe('JB-6 a sink that asks for patience', () => {
  const entry = entryOf('a', { lsn: 1, total: 1 })
  const random = { fraction: () => 1, hex: () => '' }
  const ended = new AbortController()
  const writerOn = (clock: Clock, writes: () => Promise<void>, patienceMs: number) =>
    new PatientWriter<Order>({
      ended: ended.signal,
      sink: { write: writes },
      patienceMs,
      longestWaitMs: 300_000,
      clock,
      random,
      onUnavailable: () => {},
    })

  test('is left alone for as long as it says, also by the next call', async () => {
    const clock = new SimulatedClock()
    const atMs: number[] = []
    const writes = async (): Promise<void> => {
      atMs.push(clock.monotonicMs())
      if (atMs.length < 3) throw new SinkUnavailableError('wait', { retryAfterMs: 60_000 })
    }
    const patient = writerOn(clock, writes, 300_000)
    await inTime(clock, patient.write([entry], contextOf()))
    expect(atMs[1]! - atMs[0]!).toBeGreaterThanOrEqual(60_000)
    expect(atMs[2]! - atMs[1]!).toBeGreaterThanOrEqual(60_000)
    atMs.length = 0
    const impatient = writerOn(clock, writes, 0)
    await expect(impatient.write([entry], contextOf())).rejects.toMatchObject({ retryable: true })
    await expect(inTime(clock, impatient.write([entry], contextOf()))).rejects.toMatchObject({
      code: 'ERR_SINK_UNAVAILABLE',
    })
    expect(atMs[1]! - atMs[0]!).toBeGreaterThanOrEqual(60_000)
  })

  test('that asks for more than a call may take is not called before, and fails meanwhile', async () => {
    const clock = new SimulatedClock()
    const atMs: number[] = []
    const writer = writerOn(
      clock,
      async () => {
        atMs.push(clock.monotonicMs())
        throw new SinkUnavailableError('tomorrow', { retryAfterMs: 1_000_000 })
      },
      300_000,
    )
    for (let call = 0; call < 4; call += 1) {
      await expect(
        inTime(clock, writer.write([entry], contextOf()), { stepMs: 1_000 }),
      ).rejects.toMatchObject({ code: 'ERR_SINK_UNAVAILABLE' })
    }
    expect(atMs).toHaveLength(1)
  })

  test.each([Infinity, 31_536_000_000, Number.NaN, -1])(
    'for %d ms is asked again within two hours',
    async (retryAfterMs) => {
      const clock = new SimulatedClock()
      let calls = 0
      const writer = writerOn(
        clock,
        async () => {
          calls += 1
          if (calls === 1) throw new SinkUnavailableError('wait', { retryAfterMs })
        },
        0,
      )
      const unavailable = { code: 'ERR_SINK_UNAVAILABLE' }
      await expect(writer.write([entry], contextOf())).rejects.toMatchObject(unavailable)
      await clock.advance(7_200_000)
      await inTime(clock, writer.write([entry], contextOf()))
      expect(calls).toBe(2)
    },
  )

  test('holds no job that ends, unless a failure of its call could put a change aside', async () => {
    const clock = new SimulatedClock()
    const calls = { patient: 0, impatient: 0 }
    const refuse = (which: keyof typeof calls) => async (): Promise<void> => {
      calls[which] += 1
      throw new SinkUnavailableError('next year', { retryAfterMs: 999_999_999_000 })
    }
    const impatient = writerOn(clock, refuse('impatient'), 0)
    const patient = writerOn(clock, refuse('patient'), 300_000)
    const unavailable = { code: 'ERR_SINK_UNAVAILABLE' }
    for (const writer of [impatient, patient]) {
      await expect(writer.write([entry], contextOf())).rejects.toMatchObject(unavailable)
    }
    let isOver = false
    const resting = impatient.write([entry], contextOf())
    const holding = patient.write([entry], contextOf()).finally(() => (isOver = true))
    holding.catch(() => {})
    ended.abort(new Error('the job ends'))
    await expect(resting).rejects.toMatchObject(unavailable)
    expect(isOver).toBe(false)
    await expect(inTime(clock, holding, { stepMs: 1_000 })).rejects.toMatchObject(unavailable)
    expect(calls).toEqual({ patient: 1, impatient: 1 })
  })

  test('other errors are nothing to be patient with', async () => {
    const clock = new SimulatedClock()
    const writer = writerOn(clock, () => Promise.reject(new Error('bug')), 300_000)
    await expect(writer.write([entry], contextOf())).rejects.toThrow('bug')
  })
})

test('JB-6 JSON Lines hold each change once, however often it came', async () => {
  await using on = await stage()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-sync-'))
  try {
    for (let n = 0; n < 5; n += 1) await on.orders.upsert({ id: `o${n}`, customer: 'c', total: n })
    const worker = on.worker({
      sink: jsonLinesSink({ folder }),
      feedOptions: { mode: 'allVersions' },
      group: 'log',
    })
    await worker.start()
    await on.orders.upsert({ id: 'o1', customer: 'c', total: 10 })
    await on.orders.delete('o1', 'c')
    await worker.caughtUp()
    await on.sync({ sink: jsonLinesSink({ folder }), group: 'one' })
    await on.sync({ sink: jsonLinesSink({ folder }), group: 'two' })
    const lines: string[] = []
    for await (const { kind, id, document } of readJsonLines<Order, SinkEntry<Order>>(folder)) {
      lines.push(`${kind} ${id} ${document?.total}`)
    }
    const latest = [0, 2, 3, 4].map((n) => `document o${n} ${n}`)
    const created = [0, 1, 2, 3, 4].map((n) => `create o${n} ${n}`)
    const all = [...created, 'delete o1 undefined', ...latest, 'replace o1 10']
    expect(lines.toSorted()).toEqual(all)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

describe('JB-6 pending deletes that were purged before they were read', () => {
  test.each(['fail', 'resync'] as const)('are told, with %s', async (onHorizonPassed) => {
    const clock = new SimulatedClock()
    const store = await openMemoryStore({ clock, maintenance: 'manual' })
    const orders = await store.database('shop').createCollectionIfNotExists<Order>({
      id: 'orders',
      partitionKey: '/customer',
      defaultTtl: -1,
      pendingDeletes: { retentionSeconds: 60 },
    })
    await orders.upsert({ id: 'short', customer: 'c', total: 1, ttl: 10 })
    await orders.upsert({ id: 'long', customer: 'c', total: 1 })
    const leases = new MemoryLeaseStore({ clock })
    const got: string[] = []
    const events: SyncEvent[] = []
    const worker = (): Sync =>
      syncTo<Order>({
        feed: orders,
        leases,
        group: 'copy',
        deletes: 'ignore',
        sink: async (batch) => void got.push(...batch.map(({ kind, id }) => `${kind} ${id}`)),
        feedOptions: { onHorizonPassed },
        onEvent: (event) => events.push(event),
        clock,
      })
    const first = worker()
    await inTime(clock, first.start())
    await inTime(clock, first.caughtUp())
    await inTime(clock, first.stop())
    expect(got).toEqual(['document short', 'document long'])
    await clock.advance(15_000)
    await store.runMaintenance()
    await clock.advance(90_000)
    await store.runMaintenance()
    const second = worker()
    await inTime(clock, second.start())
    await clock.advanceUntil(() => events.some(({ kind }) => kind === 'missed'), {
      limitMs: 60_000,
      stepMs: 50,
    })
    const action = onHorizonPassed === 'fail' ? 'halt' : 'resync'
    expect(events.filter(({ kind }) => kind === 'missed')).toMatchObject([{ action }])
    if (onHorizonPassed === 'resync') await inTime(clock, second.caughtUp())
    // Nobody can tell any more that the other one is gone.
    expect(got.slice(2)).toEqual(onHorizonPassed === 'resync' ? ['document long'] : [])
    await inTime(clock, second.stop())
    await store.close()
  })
})
