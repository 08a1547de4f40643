import { afterEach, describe, expect, test } from 'vitest'
import { errorCode, type DeadLetter } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FakeDocument, type FleetOptions } from '@tidemark/testing'
import type { HostOptions } from './host-options.ts'
import { accepted, write } from './letter-box.fixture.ts'

let fleet: Fleet | undefined

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  await ended.end()
  assertFleetHistory(ended, { lanes: true })
})

function newFleet(hostOptions: HostOptions, options: FleetOptions = {}): Fleet {
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 8 },
    hostOptions: { maxBatchMs: 5_000, abortGraceMs: 1_000, ...hostOptions },
    ...options,
  })
  return fleet
}

async function storedLsns(one: Fleet): Promise<readonly number[]> {
  const group = await one.leases.openGroup('group')
  return (await group.read()).leases.map(({ checkpoint }) => checkpoint.lsn)
}

describe('a call that takes too long', () => {
  test.each([1, 4])(
    'PH-10 but returns within its grace has done its work: nothing is repeated, %i lanes',
    async (maxConcurrentKeys) => {
      const one = newFleet({ maxConcurrentKeys })
      write(one, 8)
      one.behaviour = ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () =>
            resolve(one.clock.sleep(500, new AbortController().signal)),
          )
        })
      const a = await one.start('a')
      await one.until(() => one.eventsOf(a, 'leaseReleased').length === 1)
      expect(one.eventsOf(a, 'observerStuck')).toHaveLength(1)
      const done = accepted(one).length
      expect(done).toBe(maxConcurrentKeys === 1 ? 8 : 4)
      if (maxConcurrentKeys === 1) expect(await storedLsns(one)).toEqual([8])
      one.behaviour = () => {}
      await one.until(() => one.isDrained())
      expect(one.duplicates().size).toBe(maxConcurrentKeys === 1 ? 0 : 4)
    },
  )

  test('PH-10 while its host leaves, is aborted by itself, and its lease is released', async () => {
    const one = newFleet({}, { ranges: 2 })
    write(one, 16)
    one.behaviour = () => new Promise<never>(() => {})
    const a = await one.start('a')
    await one.until(() => one.deliveries.length === 2)
    await one.advance(2_000)
    const beganMs = one.clock.monotonicMs()
    await one.stop(a)
    // Sooner than shutdownTimeoutMs.
    expect(one.clock.monotonicMs() - beganMs).toBeLessThan(5_000)
    const group = await one.leases.openGroup('group')
    expect((await group.read()).leases.map(({ owner }) => owner)).toEqual([undefined, undefined])
    one.behaviour = () => {}
    await one.start('a')
    await one.until(() => one.isDrained(), 3_000)
  })

  test('PH-10 in two leases of one host: both go to the other one, for others that it has', async () => {
    const one = newFleet({}, { ranges: 4 })
    one.behaviour = ({ hostName }) => (hostName === 'a' ? new Promise<never>(() => {}) : undefined)
    const a = await one.start('a')
    const b = await one.start('b')
    await one.until(() => one.isBalanced())
    write(one, 64)
    await one.until(() => one.isDrained())
    const stuck = one.eventsOf(a, 'observerStuck').map(({ leaseId }) => leaseId)
    expect(new Set(stuck).size).toBe(2)
    await one.until(() => one.isBalanced())
    const ofB = b.host.health().leases.map(({ leaseId }) => leaseId)
    expect(new Set(ofB)).toEqual(new Set(stuck))
    expect([...one.eventsOf(a, 'unownedRanges'), ...one.eventsOf(b, 'unownedRanges')]).toEqual([])
  })

  test('PH-10 LE-9 a host on standby takes what all others refuse', async () => {
    const one = newFleet({}, { ranges: 2 })
    one.behaviour = ({ hostName }) => (hostName === 'a' ? new Promise<never>(() => {}) : undefined)
    await one.start('a')
    const b = await one.start('b', { hostOptions: { standby: true } })
    await one.until(() => one.isBalanced() || one.counts()['a'] === 2)
    expect(b.host.health().leases).toEqual([])
    write(one, 64)
    await one.until(() => one.isDrained())
    expect(b.host.health().leases).toHaveLength(2)
  })

  test('PH-10 refused and split meanwhile: what it became is taken by whoever may, and nothing piles up', async () => {
    const one = newFleet({})
    let hangs = true
    one.behaviour = () => (hangs ? new Promise<never>(() => {}) : undefined)
    write(one, 16)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'leaseReleased').length === 1)
    hangs = false
    one.feed.split(one.feed.ranges[0]!)
    await one.start('b')
    await one.until(() => one.isDrained())
    await one.until(() => one.isBalanced(2))
    await one.advance(10_000)
    const group = await one.leases.openGroup('group')
    const { hosts } = await group.read()
    expect(hosts.map(({ profile }) => profile.refuses ?? [])).toEqual([[], []])
  })

  test('PH-7 PH-10 on one change, always, is set aside in the end; the rest is processed', async () => {
    const letters: DeadLetter<FakeDocument>[] = []
    const one = newFleet(
      { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } },
      { deadLetters: { put: async (letter) => void letters.push(letter) } },
    )
    write(one, 8)
    const poison = one.feed.changes[3]!.id
    one.behaviour = (_context, changes) =>
      changes.some(({ id }) => id === poison) ? new Promise<never>(() => {}) : undefined
    await one.start('a')
    await one.start('b')
    await one.until(() => accepted(one).length === 7 && letters.length === 1, 120_000)
    expect(letters[0]?.change.id).toBe(poison)
  })

  test('PH-10 a process that begins anew under its name refuses nothing', async () => {
    const one = newFleet({ maxBatchMs: 60_000 })
    one.behaviour = () => new Promise<never>(() => {})
    write(one, 8)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'leaseReleased').length === 1, 80_000)
    one.kill(a)
    one.behaviour = () => {}
    await one.start('a')
    const tookMs = await one.until(() => one.isDrained())
    expect(tookMs).toBeLessThan(5_000)
  })
})

describe('what else an observer may hang in', () => {
  /** A host whose observers hang where the test says. */
  async function hangingIn(where: 'open' | 'close' | 'resynchronize'): Promise<Fleet> {
    const one = newFleet(
      {},
      {
        feedOptions: { startFromBeginning: true, maxItemCount: 8, onHorizonPassed: 'resync' },
        resynchronize: ({ hostName }) =>
          where === 'resynchronize' && hostName === 'a' ? new Promise<never>(() => {}) : undefined,
        ...(where === 'resynchronize'
          ? {}
          : {
              lifecycle: ({ hostName }, call) =>
                call === where && hostName === 'a' ? new Promise<never>(() => {}) : undefined,
            }),
      },
    )
    write(one, 8)
    return one
  }

  test('PH-10 open: the lease goes to another host', async () => {
    const one = await hangingIn('open')
    const a = await one.start('a')
    await one.start('b')
    await one.until(() => one.isDrained())
    expect(one.eventsOf(a, 'observerStuck').map(({ error }) => errorCode(error))).toEqual([
      'ERR_OBSERVER_STUCK',
    ])
    expect(one.deliveries.filter(({ host }) => host === 'a')).toEqual([])
  })

  test('PH-10 resynchronize: the lease goes to another host', async () => {
    const one = await hangingIn('resynchronize')
    one.behaviour = () => {}
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    await one.stop(a)
    write(one, 8)
    one.feed.passHorizon(one.feed.ranges[0]!)
    const again = await one.start('a')
    await one.start('b')
    await one.until(() => one.isDrained())
    expect(one.eventsOf(again, 'observerStuck')).toHaveLength(1)
  })

  test('PH-10 close: after its grace the lease is released all the same', async () => {
    const one = await hangingIn('close')
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    const beganMs = one.clock.monotonicMs()
    await one.stop(a)
    expect(one.clock.monotonicMs() - beganMs).toBeLessThan(2_000)
    expect(await storedLsns(one)).toEqual([8])
  })
})
