import { describe, expect, test } from 'vitest'
import { errorCode } from '@tidemark/contracts'
import type { Fleet, FleetHost } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'

const TTL_MS = 8_000
const HEARTBEAT_MS = 2_000
const never = new AbortController().signal

const newFleet = fleetsWith({})

const KEYS = Array.from({ length: 128 }, (_, index) => `key${index}`)

function write(target: Fleet, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) target.feed.append(key)
}

/** Writes a change every `everyMs` until the returned function is called. */
function pacedWriter(target: Fleet, everyMs: number): () => Promise<void> {
  let isStopped = false
  let written = 0
  const loop = (async () => {
    while (!isStopped) {
      target.feed.append(KEYS[written++ % KEYS.length]!)
      await target.clock.sleep(everyMs, never)
    }
  })()
  return async () => {
    isStopped = true
    await target.run(loop)
  }
}

function acquisitions(target: Fleet): number {
  return target.hosts.flatMap((member) => target.eventsOf(member, 'leaseAcquired')).length
}

async function balanced(target: Fleet, limitMs = 60_000): Promise<number> {
  return target.until(() => target.isBalanced(), limitMs)
}

describe('sharing out', () => {
  test('PH-1 PH-3 one host works on every range, in order, once', async () => {
    const one = newFleet()
    write(one, 5)
    await one.start('a')
    await one.until(() => one.isDrained())
    expect(one.counts()).toEqual({ a: 8 })
    write(one, 5)
    await one.until(() => one.isDrained(), 100)
    expect(one.duplicates().size).toBe(0)
  })

  test('LE-5 LE-12 PH-12 one to two hosts with 64 ranges moves exactly 32, within 2 s, and repeats nothing', async () => {
    const two = newFleet({ ranges: 64, behaviour: () => two.clock.sleep(20, never) })
    await two.start('a')
    await balanced(two)
    const stopWriting = pacedWriter(two, 5)
    const before = acquisitions(two)
    await two.start('b')
    const tookMs = await balanced(two)
    await stopWriting()
    await two.until(() => two.isDrained())
    expect(tookMs).toBeLessThan(2_000)
    expect(acquisitions(two) - before).toBe(32)
    expect(two.duplicates().size).toBe(0)
  })

  test('LE-6 LE-12 a host that leaves hands everything over at once, and nothing is repeated', async () => {
    const two = newFleet({ ranges: 16, behaviour: () => two.clock.sleep(10, never) })
    const a = await two.start('a')
    await two.start('b')
    await balanced(two)
    const stopWriting = pacedWriter(two, 5)
    await two.advance(200)
    const leaving = two.stop(a)
    const tookMs = await two.until(() => two.counts()['b'] === 16)
    await leaving
    await stopWriting()
    await two.until(() => two.isDrained())
    expect(tookMs).toBeLessThan(300)
    expect(two.duplicates().size).toBe(0)
    expect(a.host.health().status).toBe('stopped')
    expect(two.eventsOf(a, 'stopped')).toEqual([{ error: undefined }])
    const reasons = new Set(two.calls.filter(({ call, host }) => call === 'close' && host === 'a'))
    for (const { reason } of reasons) expect(['shutdown', 'leaseHandedOver']).toContain(reason)
  })

  test('LE-12 a rolling restart of 4 hosts over 64 ranges under load delivers every change exactly once', async () => {
    const four = newFleet({ ranges: 64, behaviour: () => four.clock.sleep(15, never) })
    const names = ['a', 'b', 'c', 'd']
    const running = new Map<string, FleetHost>()
    for (const name of names) running.set(name, await four.start(name))
    await balanced(four)
    const stopWriting = pacedWriter(four, 4)
    for (const name of names) {
      await four.advance(700)
      await four.stop(running.get(name)!)
      running.set(name, await four.start(name))
      await balanced(four)
    }
    await stopWriting()
    await four.until(() => four.isDrained())
    expect(four.duplicates().size).toBe(0)
    expect(four.deliveries.length).toBeGreaterThan(500)
  })

  test('LE-9 more hosts than ranges: the surplus stands by and takes over', async () => {
    const three = newFleet({ ranges: 2 })
    const a = await three.start('a')
    const b = await three.start('b')
    const c = await three.start('c')
    await balanced(three)
    const working = [a, b, c].find((member) => member.host.health().leases.length === 1)!
    await three.stop(working)
    await three.until(() => Object.values(three.counts()).reduce((x, y) => x + y, 0) === 2, 1_000)
  })

  test('LE-7 max is hard, and ranges that nobody may take are a health event until one may', async () => {
    const one = newFleet({ ranges: 8, hostOptions: { maxPartitionCount: 3 } })
    const a = await one.start('a')
    await one.until(() => one.counts()['a'] === 3)
    await one.advance(20_000)
    expect(one.counts()).toEqual({ a: 3 })
    expect(a.host.health().unownedRanges).toHaveLength(5)
    expect(one.eventsOf(a, 'unownedRanges').at(-1)?.leaseIds).toHaveLength(5)
    await one.start('b')
    await one.start('c')
    await one.until(() => Object.values(one.counts()).reduce((x, y) => x + y, 0) === 8)
    await one.until(() => a.host.health().unownedRanges.length === 0)
    expect(one.eventsOf(a, 'unownedRanges').at(-1)).toEqual({ leaseIds: [] })
  })

  test('LE-13 idle, a host costs one command per heartbeat, whatever the number of leases', async () => {
    const idle = newFleet({ ranges: 64 })
    const a = await idle.start('a')
    const b = await idle.start('b')
    await balanced(idle)
    await idle.advance(10_000)
    const before = [a, b].map(({ store }) => store.calls.length)
    await idle.advance(30 * HEARTBEAT_MS)
    for (const [index, { store }] of [a, b].entries()) {
      expect(store.calls.length - before[index]!).toBeLessThanOrEqual(30)
      expect(new Set(store.calls.slice(before[index]))).toEqual(new Set(['sync:beat']))
    }
  })
})

describe('faults', () => {
  test('LE-4 a killed host is replaced within its session plus 0.5 s, and at most two batches a range come again', async () => {
    const two = newFleet({
      ranges: 16,
      feedOptions: { startFromBeginning: true, maxItemCount: 5 },
      behaviour: () => two.clock.sleep(30, never),
    })
    const a = await two.start('a')
    await two.start('b')
    await balanced(two)
    const stopWriting = pacedWriter(two, 2)
    // Sessions from soon after a join may last a heartbeat longer.
    await two.advance(3_333 + 2 * HEARTBEAT_MS)
    two.kill(a)
    const tookMs = await two.until(() => two.counts()['b'] === 16)
    await stopWriting()
    await two.until(() => two.isDrained())
    expect(tookMs).toBeLessThanOrEqual(TTL_MS + 500)
    const repeated = two.duplicates()
    expect(repeated.size).toBeLessThanOrEqual(8 * 2 * 5)
    expect(Math.max(1, ...repeated.values())).toBeLessThanOrEqual(2)
  })

  test('LE-11 PH-4 a host that was stopped for longer than its session comes back, its checkpoints are refused, and it re-joins', async () => {
    const two = newFleet({ behaviour: () => two.clock.sleep(50, never) })
    const a = await two.start('a')
    await two.start('b')
    await balanced(two)
    const stopWriting = pacedWriter(two, 5)
    await two.advance(1_000)
    a.gate.freeze()
    await two.until(() => two.counts()['b'] === 8)
    const wokenAtMs = two.clock.monotonicMs()
    a.gate.thaw()
    await balanced(two)
    await stopWriting()
    await two.until(() => two.isDrained())
    // What a owned before was lost; nothing of it was dispatched after it woke.
    const oldEpochs = new Set(
      two.eventsOf(a, 'leaseLost').map(({ leaseId, epoch }) => `${leaseId} ${epoch}`),
    )
    expect(oldEpochs.size).toBe(4)
    const stale = two.deliveries.filter(
      ({ host, leaseId, epoch, atMs }) =>
        host === 'a' && atMs >= wokenAtMs && oldEpochs.has(`${leaseId} ${epoch}`),
    )
    expect(stale).toEqual([])
    expect(two.eventsOf(a, 'joined')).toHaveLength(2)
    expect(two.eventsOf(a, 'fenced')).toHaveLength(1)
  })

  test('a host cut off from the lease store stops at its deadline, before anybody else begins', async () => {
    const two = newFleet({ behaviour: () => two.clock.sleep(10, never) })
    const a = await two.start('a')
    await two.start('b')
    await balanced(two)
    const stopWriting = pacedWriter(two, 5)
    await two.advance(1_000)
    const cutAtMs = two.clock.monotonicMs()
    a.store.link = 'silent'
    await two.until(() => two.counts()['b'] === 8)
    const [fenced] = a.events.filter(({ name }) => name === 'fenced')
    expect(fenced?.event).toEqual({ cause: 'deadlinePassed' })
    const taken = two.events(two.hosts[1]!, 'leaseAcquired').filter(({ atMs }) => atMs > cutAtMs)
    expect(taken).toHaveLength(4)
    for (const { atMs } of taken) expect(atMs).toBeGreaterThan(fenced!.atMs)
    const late = two.deliveries.filter(({ host, atMs }) => host === 'a' && atMs > fenced!.atMs)
    expect(late).toEqual([])
    expect(two.eventsOf(a, 'leaseStoreUnavailable')).toHaveLength(1)
    a.store.link = 'up'
    await balanced(two)
    await stopWriting()
    await two.until(() => two.isDrained())
    expect(two.eventsOf(a, 'leaseStoreRecovered')).toHaveLength(1)
    expect(a.host.health().status).toBe('running')
  })

  test('PH-10 a lease store that goes away for less than a session moves nothing', async () => {
    const two = newFleet()
    const a = await two.start('a')
    const b = await two.start('b')
    await balanced(two)
    const before = acquisitions(two)
    for (const { store } of [a, b]) store.link = 'down'
    await two.advance(4_000)
    expect(a.host.health()).toMatchObject({ status: 'degraded', leaseStoreAvailable: false })
    write(two)
    for (const { store } of [a, b]) store.link = 'up'
    await two.until(() => two.isDrained(), 4_000)
    expect(acquisitions(two)).toBe(before)
    for (const member of [a, b]) {
      expect(two.eventsOf(member, 'leaseStoreUnavailable')).toHaveLength(1)
      expect(two.eventsOf(member, 'leaseStoreRecovered')).toHaveLength(1)
      expect(member.host.health().status).toBe('running')
    }
    expect(two.duplicates().size).toBe(0)
  })

  test('a lease store that stands still for ten heartbeats gives every lease back to its host', async () => {
    const two = newFleet({ ranges: 16 })
    const a = await two.start('a')
    const b = await two.start('b')
    await balanced(two)
    const owned = a.host.health().leases.map(({ leaseId }) => leaseId)
    for (const { store } of [a, b]) store.link = 'silent'
    await two.advance(10 * HEARTBEAT_MS)
    expect(two.counts()).toEqual({ a: 0, b: 0 })
    for (const { store } of [a, b]) store.link = 'up'
    await balanced(two)
    expect(
      a.host
        .health()
        .leases.map(({ leaseId }) => leaseId)
        .sort(),
    ).toEqual(owned.sort())
  })

  test('a second process of the same name takes over; the first stops and does not fight back', async () => {
    const two = newFleet({ behaviour: () => two.clock.sleep(10, never) })
    const first = await two.start('a')
    await balanced(two)
    const stopWriting = pacedWriter(two, 5)
    await two.advance(500)
    const second = await two.start('a')
    await two.until(() => second.host.health().leases.length === 8)
    await two.until(() => first.host.health().status === 'stopped')
    await two.advance(60_000)
    await stopWriting()
    await two.until(() => two.isDrained())
    const [stopped] = two.eventsOf(first, 'stopped')
    expect(errorCode(stopped?.error)).toBe('ERR_HOST_REPLACED')
    expect(errorCode(first.host.health().lastError)).toBe('ERR_HOST_REPLACED')
    expect(two.eventsOf(second, 'fenced')).toEqual([])
    expect(two.eventsOf(second, 'joined')).toHaveLength(1)
  })

  test('a process that was stopped while another took its name yields to it', async () => {
    const two = newFleet()
    const first = await two.start('a')
    await balanced(two)
    first.gate.freeze()
    await two.advance(2 * TTL_MS)
    const second = await two.start('a')
    await two.until(() => second.host.health().leases.length === 8)
    first.gate.thaw()
    await two.until(() => first.host.health().status === 'stopped')
    await two.advance(20_000)
    expect(second.host.health().leases).toHaveLength(8)
    expect(two.eventsOf(second, 'fenced')).toEqual([])
  })

  test('a batch that takes longer than handoffTimeoutMs is aborted, and its lease goes over without its checkpoint', async () => {
    const signals: AbortSignal[] = []
    const two = newFleet({
      ranges: 2,
      hostOptions: { handoffTimeoutMs: 1_000, abortGraceMs: 500 },
      behaviour: async ({ signal, hostName }) => {
        if (hostName !== 'a') return
        signals.push(signal)
        await two.clock.sleep(1_000_000, signal)
      },
    })
    const a = await two.start('a')
    await balanced(two)
    write(two)
    await two.advance(100)
    await two.start('b')
    await two.until(() => two.counts()['b'] === 1, 5_000)
    expect(signals.filter(({ aborted }) => aborted)).toHaveLength(1)
    const [released] = two.events(a, 'leaseReleased')
    expect(released?.event.reason).toBe('leaseHandedOver')
    // The call ended when it was told to, not when its grace was over.
    const [rebalanced] = two.events(a, 'rebalanced').slice(-1)
    expect(released!.atMs - rebalanced!.atMs).toBeLessThan(1_100)
    const taken = two.deliveries.find(({ host }) => host === 'b')
    expect(taken?.changes[0]?.lsn).toBe(1)
    await two.stop(a)
    await two.until(() => two.isDrained())
  })

  test('a call that ignores its abort keeps its lease no longer than the grace, and nothing is called after close', async () => {
    const stuck = Promise.withResolvers<void>()
    const two = newFleet({
      ranges: 1,
      hostOptions: { shutdownTimeoutMs: 1_000, abortGraceMs: 500 },
      behaviour: () => stuck.promise,
    })
    const a = await two.start('a')
    await balanced(two)
    write(two)
    await two.advance(100)
    const startMs = two.clock.monotonicMs()
    await two.stop(a)
    expect(two.clock.monotonicMs() - startMs).toBeLessThan(2_000)
    expect(two.calls.map(({ call }) => call)).toEqual(['open', 'process', 'close'])
    stuck.resolve()
    await two.advance(10_000)
    expect(two.calls.map(({ call }) => call)).toEqual(['open', 'process', 'close'])
  })

  test("onLeaseStoreLoss 'stop': leases that vanish stop the host rather than let it start from now", async () => {
    const one = newFleet({ hostOptions: { onLeaseStoreLoss: 'stop' } })
    const a = await one.start('a')
    await balanced(one)
    one.memory.loseAllData()
    await one.until(() => a.host.health().status === 'stopped', 2 * HEARTBEAT_MS)
    expect(errorCode(one.eventsOf(a, 'stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
    expect(one.calls.filter(({ call }) => call === 'close')).toHaveLength(8)
  })

  test('after a stall of the event loop a host beats before it dispatches', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await balanced(one)
    await one.advance(1_000)
    one.clock.stall(5_000)
    const before = one.deliveries.length
    const calls = a.store.calls.length
    write(one)
    a.store.link = 'down'
    await one.advance(100)
    expect(one.deliveries.length).toBe(before)
    a.store.link = 'up'
    await one.until(() => one.isDrained(), 2_000)
    expect(a.store.calls[calls]).toBe('sync:beat')
    expect(one.eventsOf(a, 'fenced')).toEqual([])
  })

  test('I6 a batch that waited in the queue over a stall waits for the beat too', async () => {
    const first = Promise.withResolvers<void>()
    const one = newFleet({
      ranges: 2,
      hostOptions: { maxConcurrentObservers: 1 },
      behaviour: () => (one.deliveries.length === 1 ? first.promise : undefined),
    })
    const a = await one.start('a')
    await balanced(one)
    write(one)
    await one.advance(100)
    expect(one.deliveries).toHaveLength(1)
    a.store.link = 'down'
    one.clock.stall(5_000)
    first.resolve()
    await one.advance(100)
    expect(one.deliveries).toHaveLength(1)
    a.store.link = 'up'
    await one.until(() => one.isDrained(), 2_000)
    expect(one.eventsOf(a, 'fenced')).toEqual([])
  })

  test('a wall clock that jumps ahead makes the host look after its session, and costs it nothing', async () => {
    const one = newFleet()
    const a = await one.start('a')
    await balanced(one)
    a.clock.jumpWall(3_600_000)
    a.store.link = 'down'
    write(one)
    await one.advance(100)
    expect(one.deliveries).toEqual([])
    a.store.link = 'up'
    await one.until(() => one.isDrained(), 2_000)
    expect(one.eventsOf(a, 'fenced')).toEqual([])
  })
})

test('a wait of the fleet that fails says for what it waited, and what was there instead', async () => {
  const one = newFleet({ behaviour: () => one.clock.sleep(TTL_MS, never) })
  await one.start('a')
  const [n] = one.feed.append('key1')
  const waiting = one.until(() => one.isDrained(), 1_000)
  await expect(waiting).rejects.toThrow(/after 1000 ms .*isDrained\(\)/)
  await expect(waiting).rejects.toThrow(`hosts: a running with [`)
  await expect(waiting).rejects.toThrow(`1 of 1 changes not done: key1-${n}`)
})

test('PH-4 an observer can do what it likes to the list that it gets', async () => {
  const fleet = newFleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 4 },
    behaviour: (_context, changes) => {
      // The fleet notes the very list.
      Object.assign(fleet.deliveries.at(-1)!, { changes: [...changes] })
      ;(changes as unknown[]).length = 0
    },
  })
  for (let n = 0; n < 10; n += 1) fleet.feed.append('key1')
  await fleet.start('a')
  await fleet.until(() => fleet.isDrained())
  expect(fleet.deliveries.map(({ changes }) => changes.length)).toEqual([4, 4, 2])
})
