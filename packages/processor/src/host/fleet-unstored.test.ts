import { describe, expect, test } from 'vitest'
import type { Clock, LeaseStore } from '@tidemark/contracts'
import type { Delivery, Fleet, FleetOptions } from '@tidemark/testing'
import { leaseStoreOn } from '../lease-stores/memory-lease-store.ts'
import { fleetsWith } from './fleets.fixture.ts'

const BATCH = 4
const OBSERVER_MS = 10
const never = new AbortController().signal
const newFleet = fleetsWith({
  ranges: 1,
  feedOptions: { startFromBeginning: true, maxItemCount: BATCH },
})

/** Stores positions slowly, and not at all when the host that sent one is dead by the time that it would arrive. */
function slowly(
  store: LeaseStore,
  clock: Clock,
  { takesMs, isDead }: { readonly takesMs: number; readonly isDead: (host: string) => boolean },
): LeaseStore {
  const openGroup = store.openGroup.bind(store)
  store.openGroup = async (name, options) => {
    const group = await openGroup(name, options)
    const checkpoint = group.checkpoint.bind(group)
    group.checkpoint = async (request, signal) => {
      await clock.sleep(takesMs / 2, never)
      if (isDead(request.host)) await new Promise<never>(() => {})
      const outcomes = await checkpoint(request, signal)
      await clock.sleep(takesMs / 2, never)
      return outcomes
    }
    return group
  }
  return store
}

function slowFleet(takesMs: number, options: FleetOptions): Fleet {
  const isDead = (host: string): boolean =>
    fleet.hosts.some(({ name, gate }) => name === host && gate.isFrozen)
  const fleet: Fleet = newFleet({
    ...options,
    leases: (clock, memory) => slowly(leaseStoreOn(memory, { clock }), clock, { takesMs, isDead }),
  })
  return fleet
}

/** Batches that one host began and another one was given again, in whatever pieces. */
function batchesAgain({ deliveries }: Fleet, of: string): readonly Delivery[] {
  const later = new Set(
    deliveries.flatMap(({ host, changes }) => (host === of ? [] : changes.map(({ id }) => id))),
  )
  return deliveries.filter(({ host, changes }) => {
    return host === of && changes.some(({ id }) => later.has(id))
  })
}

/** A host is killed at one moment of its `n`th call; its successor does the rest. Returns what came again. */
async function killedAt(
  { n, when, takesMs }: { readonly n: number; readonly when: 'begin' | 'end'; takesMs: number },
  hostOptions: FleetOptions['hostOptions'],
): Promise<number> {
  const two: Fleet = slowFleet(takesMs, {
    hostOptions,
    behaviour: async ({ hostName }) => {
      const isNow = hostName === 'a' && two.deliveries.length === n
      if (isNow && when === 'begin') two.kill(two.hosts[0]!)
      await two.clock.sleep(OBSERVER_MS, never)
      if (isNow && when === 'end')
        void two.clock.sleep(0, never).then(() => two.kill(two.hosts[0]!))
    },
  })
  await two.start('a')
  await two.until(() => two.isBalanced())
  for (let batch = 0; batch < 10 * BATCH; batch += 1) two.feed.append('key')
  await two.until(() => two.hosts[0]!.gate.isFrozen)
  await two.start('b')
  await two.until(() => two.isDrained(), 60_000)
  const { length } = batchesAgain(two, 'a')
  await two.end()
  return length
}

/** One change a millisecond. */
async function trickle(fleet: Fleet, changes: number): Promise<void> {
  for (let n = 0; n < changes; n += 1) {
    fleet.feed.append('key')
    await fleet.advance(1)
  }
}

const SMALL = { feedOptions: { startFromBeginning: true, maxItemCount: 100 } }

describe('PH-5 small batches share a checkpoint', () => {
  test('one change a millisecond: each is a batch, one checkpoint in ten of them', async () => {
    const one = newFleet(SMALL)
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    await trickle(one, 200)
    await one.advance(10)
    expect(one.deliveries).toHaveLength(200)
    const stored = one.eventsOf(a, 'checkpointed')
    expect(stored.length).toBeGreaterThanOrEqual(20)
    expect(stored.length).toBeLessThanOrEqual(22)
    expect(stored.at(-1)).toMatchObject({ lsn: 200 })
  })

  test('the first after a pause is stored at once, others within 10 ms, whatever the next one takes', async () => {
    const one: Fleet = newFleet({
      ...SMALL,
      behaviour: async (_context, changes) => {
        if (changes.some(({ lsn }) => lsn === 3)) await one.clock.sleep(60_000, never)
      },
    })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    one.feed.append('key')
    await one.advance(1)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }])
    await trickle(one, 2)
    await one.advance(10)
    expect(one.deliveries).toHaveLength(3)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }, { lsn: 2 }])
  })

  test('none is told to be stored after one behind it, which an observer asked for', async () => {
    const one: Fleet = newFleet({
      ...SMALL,
      behaviour: async (context, changes) => {
        if (changes.every(({ lsn }) => lsn < 3)) return
        await context.checkpoint()
        await one.clock.sleep(60_000, never)
      },
    })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    await trickle(one, 3)
    await one.advance(10)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }, { lsn: 3 }])
  })

  test('ticks are those of the clock, not of a lease: so they are the same for all', async () => {
    const one = newFleet(SMALL)
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(103 - (one.clock.monotonicMs() % 10))
    await trickle(one, 2)
    await one.advance(4)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }])
    await one.advance(1)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }, { lsn: 2 }])
  })

  test.each([
    { maxItemCount: 10, together: 10 },
    { maxItemCount: 1_000, together: 100 },
    { maxItemCount: -1, together: 100 },
    { maxItemCount: undefined, together: 100 },
  ])(
    'batches of at most $maxItemCount: $together changes wait for no tick, and one less does',
    async ({ maxItemCount, together }) => {
      const one = newFleet({ feedOptions: { startFromBeginning: true, maxItemCount } })
      const a = await one.start('a')
      await one.until(() => one.isBalanced())
      for (const [changes, tellsAtOnce] of [
        [together - 1, false],
        [together, true],
      ] as const) {
        await one.advance(100)
        await trickle(one, 1)
        const before = one.eventsOf(a, 'checkpointed').length
        for (let n = 0; n < changes; n += 1) one.feed.append('key')
        await one.advance(1)
        expect(one.isDrained()).toBe(true)
        expect(one.eventsOf(a, 'checkpointed').length > before).toBe(tellsAtOnce)
      }
    },
  )

  test('with maxUnstoredBatches 1 nothing waits to be stored', async () => {
    const one = newFleet({ ...SMALL, hostOptions: { maxUnstoredBatches: 1 } })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    await trickle(one, 5)
    expect(one.eventsOf(a, 'checkpointed')).toHaveLength(5)
  })

  test.each(['everyBatch' as const, { everyMs: 60_000 }])(
    '%j: one timer for all that wait, and none is left when the host has stopped',
    async (checkpointFrequency) => {
      const one = newFleet({ ...SMALL, hostOptions: { checkpointFrequency } })
      const a = await one.start('a')
      await one.until(() => one.isBalanced())
      await one.advance(100)
      const before = one.clock.sleeping
      await trickle(one, 8)
      expect(one.clock.sleeping).toBeLessThanOrEqual(before + 1)
      await one.stop(a)
      expect(one.clock.sleeping).toBe(0)
    },
  )

  test('PH-4 what was done is stored also where a host stops and its observer does not', async () => {
    const one: Fleet = newFleet({
      ...SMALL,
      behaviour: async ({ hostName }, changes) => {
        if (hostName === 'a' && changes.some(({ lsn }) => lsn === 3))
          await one.clock.sleep(600_000, never)
      },
    })
    const a = await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    await trickle(one, 3)
    expect(one.eventsOf(a, 'checkpointed')).toMatchObject([{ lsn: 1 }])
    await one.stop(a)
    await one.start('b')
    await one.until(() => one.isDrained(), 120_000)
    const again = one.deliveries.filter(({ host }) => host === 'b')
    expect(again.flatMap(({ changes }) => changes.map(({ lsn }) => lsn))).toEqual([3])
  })

  test.each([1, 2, 3])(
    'while nothing can be stored, %d of 100 changes are done or in hand, however small',
    async (maxUnstoredBatches) => {
      const one = newFleet({ ...SMALL, hostOptions: { maxUnstoredBatches } })
      const a = await one.start('a')
      await one.until(() => one.isBalanced())
      await one.advance(100)
      a.store.link = 'down'
      await trickle(one, 400)
      const done = one.deliveries.reduce((sum, { changes }) => sum + changes.length, 0)
      // The one in hand may be small, too.
      expect(done).toBe(maxUnstoredBatches === 1 ? 1 : (maxUnstoredBatches - 1) * 100 + 1)
      a.store.link = 'up'
      await one.until(() => one.isDrained())
    },
  )
})

describe('what comes again when a process dies', () => {
  test.each([1, 2, 3])(
    'PH-4 PH-5 at most %d batches of a lease, whenever it dies and however slowly positions are stored',
    async (maxUnstoredBatches) => {
      let most = 0
      for (const takesMs of [0, 16, 50]) {
        for (const when of ['begin', 'end'] as const) {
          for (let n = 1; n <= 6; n += 1) {
            const again = await killedAt({ n, when, takesMs }, { maxUnstoredBatches })
            most = Math.max(most, again)
          }
        }
      }
      expect(most).toBe(maxUnstoredBatches)
    },
  )

  test('PH-4 PH-7 nothing is called before it is stored that the tries of the page before are over', async () => {
    const one = slowFleet(50, {
      hostOptions: { failurePolicy: 'haltRange' },
      behaviour: async () => {
        const group = await one.leases.openGroup('group')
        const [lease] = (await group.read()).leases
        const tried = lease?.checkpoint.attempts?.first
        seen.push({ lsn: lease?.checkpoint.lsn, isTried: tried !== undefined })
        await one.clock.sleep(OBSERVER_MS, never)
      },
    })
    const seen: { lsn: number | undefined; isTried: boolean }[] = []
    await one.start('a')
    await one.until(() => one.isBalanced())
    for (let n = 0; n < 4 * BATCH; n += 1) one.feed.append('key')
    await one.until(() => one.isDrained())
    expect(seen.slice(0, 3)).toEqual([
      { lsn: 0, isTried: true },
      { lsn: BATCH, isTried: false },
      // From then on the next page begins while the position of the one before is on its way.
      { lsn: BATCH, isTried: false },
    ])
  })
})
