import { describe, expect, test } from 'vitest'
import { RangeGoneError, errorCode, type ObserverContext } from '@tidemark/contracts'
import { Fleet } from '@tidemark/testing'
import type { CheckpointFrequency } from '../feed-processing/pump-options.ts'
import { fleetsWith } from './fleets.fixture.ts'
import type { HostOptions } from './host-options.ts'

const never = new AbortController().signal

const newFleet = fleetsWith({ ranges: 4 })

function write(target: Fleet, count: number): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n % 16}`)
}

async function storedLsns(target: Fleet): Promise<number[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.lsn)
}

describe('observers', () => {
  test('PH-7 an observer that throws gets the same batch again with back-off and a rising attempt; other ranges go on', async () => {
    let failing: string | undefined
    const attempts: number[] = []
    const one = newFleet({
      behaviour: ({ leaseId, attempt }) => {
        failing ??= leaseId
        if (leaseId !== failing) return
        attempts.push(attempt)
        if (attempt < 6) throw new Error(`no (${attempt})`)
      },
    })
    const a = await one.start('a')
    write(one, 64)
    await one.until(() => one.isDrained())
    expect(attempts.slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6])
    const errors = one.events(a, 'observerError')
    expect(errors).toHaveLength(5)
    const waits = errors.map(({ event }) => event.retryInMs!)
    for (const [index, waitMs] of waits.entries()) {
      expect(waitMs).toBeGreaterThanOrEqual(100 * 2 ** index)
      expect(waitMs).toBeLessThanOrEqual(200 * 2 ** index)
    }
    const others = one.deliveries.filter(({ leaseId }) => leaseId !== failing)
    for (const { atMs, outcome } of others) {
      expect(atMs).toBeLessThan(errors[0]!.atMs + 10)
      expect(outcome).toBe('done')
    }
    const failed = one.deliveries.filter(({ outcome }) => outcome === 'failed')
    expect(new Set(failed.map(({ changes }) => changes.length)).size).toBe(1)
  })

  test('PH-4 PH-10 what an observer did not accept is never stored, and health names it', async () => {
    const one = newFleet({
      ranges: 1,
      behaviour: () => {
        throw new Error('never')
      },
    })
    const a = await one.start('a')
    write(one, 10)
    await one.advance(60_000)
    expect(await storedLsns(one)).toEqual([0])
    const health = a.host.health()
    expect(health.status).toBe('degraded')
    expect(health.leases[0]?.attempt).toBeGreaterThan(5)
    expect(health.leases[0]?.lastError).toEqual(new Error('never'))
    await one.stop(a)
    expect(await storedLsns(one)).toEqual([0])
    const last = one.calls.at(-1)
    expect([last?.call, last?.reason]).toEqual(['close', 'shutdown'])
  })

  test('PH-1 a class makes one observer for each lease, an instance is shared', async () => {
    const one = newFleet()
    let made = 0
    class Counting {
      constructor() {
        made += 1
      }
      processChanges(): void {}
    }
    const a = one.create('a')
    await one.run(a.host.registerObserver(Counting))
    await one.until(() => one.counts()['a'] === 4)
    expect(made).toBe(4)
    await one.stop(a)
    const seen: string[] = []
    const b = one.create('b')
    await one.run(
      b.host.registerObserver({
        open: ({ leaseId }) => void seen.push(leaseId),
        processChanges: () => {},
      }),
    )
    await one.until(() => one.counts()['b'] === 4)
    expect(new Set(seen).size).toBe(4)
  })

  test('PH-2 an open that fails is closed and tried again with a new observer', async () => {
    const one = newFleet({ ranges: 1 })
    const log: string[] = []
    let made = 0
    const a = one.create('a')
    await one.run(
      a.host.registerObserverFactory(() => {
        made += 1
        const name = made
        return {
          open: () => {
            log.push(`open ${name}`)
            if (name < 3) throw new Error('not yet')
          },
          processChanges: () => void log.push(`process ${name}`),
          close: (_context, reason) => void log.push(`close ${name} ${reason}`),
        }
      }),
    )
    write(one, 1)
    await one.until(() => log.includes('process 3'))
    await one.stop(a)
    expect(log).toEqual([
      'open 1',
      'close 1 observerError',
      'open 2',
      'close 2 observerError',
      'open 3',
      'process 3',
      'close 3 shutdown',
    ])
  })

  test('PH-3 no more observer calls at a time than maxConcurrentObservers', async () => {
    let running = 0
    let most = 0
    const one = newFleet({
      ranges: 8,
      hostOptions: { maxConcurrentObservers: 3 },
      behaviour: async () => {
        running += 1
        most = Math.max(most, running)
        await one.clock.sleep(10, never)
        running -= 1
      },
    })
    write(one, 200)
    await one.start('a')
    await one.until(() => one.isDrained())
    expect(most).toBe(3)
  })

  test('LE-11 the context carries the fence, and it rises with the owner', async () => {
    const fences: ObserverContext['fence'][] = []
    const two = newFleet({ ranges: 1, behaviour: ({ fence }) => void fences.push(fence) })
    const a = await two.start('a')
    write(two, 1)
    await two.until(() => two.isDrained())
    await two.stop(a)
    await two.start('b')
    write(two, 1)
    await two.until(() => two.isDrained())
    expect(fences.map(({ lsn }) => lsn)).toEqual([1, 2])
    expect(fences[1]!.epoch).toBeGreaterThan(fences[0]!.epoch)
    expect(fences[1]!.generation).toBe(fences[0]!.generation)
  })

  test('PH-10 a listener that throws disturbs nothing but shows in health', async () => {
    const one = newFleet()
    const a = one.create('a')
    a.host.on('leaseAcquired', () => {
      throw new Error('listener')
    })
    await one.run(one.register(a))
    write(one, 8)
    await one.until(() => one.isDrained())
    expect(a.host.health().lastError).toEqual(new Error('listener'))
  })
})

describe('checkpoints', () => {
  async function run(
    checkpointFrequency: CheckpointFrequency,
    hostOptions: HostOptions = {},
  ): Promise<Fleet> {
    const one = newFleet({
      ranges: 1,
      hostOptions: { ...hostOptions, checkpointFrequency },
      feedOptions: { startFromBeginning: true, maxItemCount: 10 },
    })
    await one.start('a')
    return one
  }

  test.each([1, 2, 3])(
    'PH-5 everyBatch: not more than %d batches are not stored, while reading goes on',
    async (maxUnstoredBatches) => {
      const one = await run('everyBatch', { maxUnstoredBatches })
      const [a] = one.hosts
      await one.advance(200)
      a!.store.link = 'down'
      write(one, 100)
      await one.advance(1_000)
      expect(one.deliveries).toHaveLength(maxUnstoredBatches)
      expect(one.feed.reads).toBeGreaterThanOrEqual(3)
      a!.store.link = 'up'
      await one.until(() => one.isDrained())
      await one.until(() => a!.host.health().leases[0]?.checkpointLsn === 100)
    },
  )

  test('PH-5 everyChanges: stored when so many were processed, and on close', async () => {
    const one = await run({ everyChanges: 40 })
    write(one, 95)
    await one.until(() => one.isDrained())
    await one.advance(100)
    expect(await storedLsns(one)).toEqual([80])
    await one.stop(one.hosts[0]!)
    expect(await storedLsns(one)).toEqual([95])
  })

  test('PH-5 everyMs: stored after so long, also when no further batch comes', async () => {
    const one = await run({ everyMs: 5_000 })
    await one.advance(6_000)
    write(one, 5)
    await one.until(() => one.isDrained())
    await one.advance(100)
    expect(await storedLsns(one)).toEqual([5])
    write(one, 5)
    await one.advance(3_000)
    expect(await storedLsns(one)).toEqual([5])
    await one.advance(3_000)
    expect(await storedLsns(one)).toEqual([10])
  })

  test('PH-5 everyMs: the first is stored so long after the host got its lease', async () => {
    const one = await run({ everyMs: 5_000 })
    write(one, 5)
    await one.advance(4_000)
    expect(await storedLsns(one)).toEqual([0])
    await one.advance(1_001)
    expect(await storedLsns(one)).toEqual([5])
  })

  test('PH-5 manual: only what the observer stores, also on close', async () => {
    const one = await run('manual')
    one.behaviour = async (context, changes) => {
      if (changes.at(-1)!.lsn === 20) await context.checkpoint()
    }
    write(one, 50)
    await one.until(() => one.isDrained())
    await one.stop(one.hosts[0]!)
    expect(await storedLsns(one)).toEqual([20])
    await one.start('b')
    await one.until(() => one.deliveries.some(({ host }) => host === 'b'))
    const again = one.deliveries.find(({ host }) => host === 'b')
    expect(again?.changes[0]?.lsn).toBe(21)
  })

  test('PH-5 a checkpoint that was asked for and not awaited is stored and settles, also when the host stops', async () => {
    const one = newFleet({ ranges: 1, hostOptions: { checkpointFrequency: 'manual' } })
    const settled: string[] = []
    one.behaviour = (context) => {
      context.checkpoint().then(
        () => settled.push('stored'),
        () => settled.push('refused'),
      )
    }
    const a = await one.start('a')
    await one.advance(200)
    a.store.link = 'down'
    write(one, 3)
    await one.until(() => one.isDrained())
    const stopping = one.stop(a)
    await one.advance(1_000)
    a.store.link = 'up'
    await stopping
    expect(settled).toEqual(['stored'])
    expect(await storedLsns(one)).toEqual([3])
  })

  test('LE-11 context.checkpoint of a lost lease rejects with ERR_LEASE_LOST and stores nothing', async () => {
    const one = newFleet({ ranges: 1, hostOptions: { checkpointFrequency: 'manual' } })
    const codes: (string | undefined)[] = []
    const gate = Promise.withResolvers<void>()
    one.behaviour = async (context) => {
      await gate.promise
      await context.checkpoint().catch((error: unknown) => codes.push(errorCode(error)))
    }
    const a = await one.start('a')
    write(one, 1)
    await one.until(() => one.deliveries.length === 1)
    const group = await one.leases.openGroup('group')
    await group.discard('gone')
    gate.resolve()
    await one.until(() => codes.length > 0)
    expect(codes).toEqual(['ERR_LEASE_LOST'])
    await one.stop(a)
  })
})

describe('feeds', () => {
  test('PH-10 a feed that fails is tried again with back-off, and each failure is an event', async () => {
    let isDown = false
    const one = newFleet({
      ranges: 1,
      beforeRead: () => {
        if (isDown) throw new Error('feed down')
      },
    })
    const a = await one.start('a')
    await one.advance(100)
    isDown = true
    write(one, 5)
    await one.advance(10_000)
    expect(one.eventsOf(a, 'feedError').length).toBeGreaterThan(3)
    expect(one.eventsOf(a, 'feedError').length).toBeLessThan(12)
    expect(a.host.health().leases[0]?.lastError).toEqual(new Error('feed down'))
    isDown = false
    await one.until(() => one.isDrained(), 30_000)
    expect(a.host.health().status).toBe('running')
    expect(one.duplicates().size).toBe(0)
  })

  test('a feed that cannot wake its readers is polled', async () => {
    const one = newFleet({ ranges: 1, waiting: false, hostOptions: { feedPollDelayMs: 400 } })
    await one.start('a')
    await one.advance(1_000)
    const reads = one.feed.reads
    await one.advance(4_000)
    expect(one.feed.reads - reads).toBe(10)
    write(one, 3)
    await one.until(() => one.isDrained(), 401)
  })

  test('PH-2 a range that is gone: what was read before is processed, the observer closed with rangeGone, the lease kept', async () => {
    const one = newFleet({ ranges: 2 })
    const a = await one.start('a')
    write(one, 20)
    await one.until(() => one.isDrained())
    one.feed.removeRange(one.feed.ranges[0]!)
    await one.until(() => one.eventsOf(a, 'rangeGone').length === 1)
    expect(one.eventsOf(a, 'rangeGone')[0]?.error).toBeInstanceOf(RangeGoneError)
    await one.advance(30_000)
    const closes = one.calls.filter(({ call }) => call === 'close')
    expect(closes.map(({ reason }) => reason)).toEqual(['rangeGone'])
    expect(
      a.host
        .health()
        .leases.map(({ state }) => state)
        .sort(),
    ).toEqual(['rangeGone', 'running'])
  })

  test('PH-2 a page without changes is never dispatched, and its end is kept on close', async () => {
    const one = newFleet({ ranges: 4 })
    const a = await one.start('a')
    one.feed.append('only')
    await one.until(() => one.isDrained())
    await one.advance(1_000)
    expect(one.deliveries).toHaveLength(1)
    await one.stop(a)
  })
})

describe('start', () => {
  test('CF-6 now is the moment of registerObserver: nothing written after it is missed, nothing before it comes', async () => {
    const one = newFleet({ feedOptions: {} })
    write(one, 32)
    const a = one.create('a')
    const registered = one.register(a)
    await one.run(registered)
    const before = one.feed.changes.length
    write(one, 32)
    one.kill(a)
    await one.start('b')
    await one.until(() => one.counts()['b'] === 4)
    await one.advance(1_000)
    const delivered = one.deliveries.flatMap(({ changes }) => changes)
    expect(delivered).toHaveLength(one.feed.changes.length - before)
  })

  test('CF-6 stored leases beat every start position', async () => {
    const one = newFleet({ feedOptions: { startFromBeginning: true } })
    write(one, 32)
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    await one.stop(a)
    one.deliveries.length = 0
    await one.start('b', { feedOptions: { startTime: new Date(0) } })
    await one.until(() => one.counts()['b'] === 4)
    await one.advance(1_000)
    expect(one.deliveries).toEqual([])
  })

  test('CF-6 PH-6 startTime beats startFromBeginning', async () => {
    const startTime = new Date(1_767_225_605_000)
    const one = newFleet({ feedOptions: { startFromBeginning: true, startTime } })
    write(one, 16)
    await one.advance(startTime.getTime() - one.clock.wallMs())
    write(one, 16)
    await one.start('a')
    await one.until(() => one.counts()['a'] === 4)
    await one.advance(1_000)
    expect(one.deliveries.flatMap(({ changes }) => changes)).toHaveLength(16)
  })

  test('PH-6 a start continuation of another collection is refused, also where leases exist', async () => {
    const one = newFleet({ ranges: 1 })
    const other = new Fleet({ ranges: 1 })
    const [range] = other.feed.ranges
    const foreign = await other.feed.resolveStart({ range: range!, start: 'now' })
    const wrong = foreign.continuation.replace('fake-feed', 'another')
    const feedOptions = { startContinuation: wrong }
    for (let round = 0; round < 2; round += 1) {
      const a = one.create('a', { feedOptions })
      const error = await one.run(one.register(a).catch((e: unknown) => e))
      expect(errorCode(error)).toBe('ERR_INVALID_CONTINUATION')
      expect(a.host.health().status).toBe('stopped')
      if (round === 0) await one.start('b')
    }
  })

  test('PH-6 partitionKeyRangeId: only that range; an unknown one, or a group of other ranges, is refused', async () => {
    const one = newFleet()
    const [first, second] = one.feed.ranges
    const id = `${first!.minInclusive}-${first!.maxExclusive}`
    const a = await one.start('a', { feedOptions: { partitionKeyRangeId: id } })
    await one.until(() => one.counts()['a'] === 1)
    expect(a.host.health().leases[0]?.leaseId).toBe(id)
    for (const wrong of ['nonsense', `${second!.minInclusive}-${second!.maxExclusive}`]) {
      const b = one.create('b', { feedOptions: { partitionKeyRangeId: wrong } })
      const error = await one.run(one.register(b).catch((e: unknown) => e))
      expect(errorCode(error)).toBe('ERR_INVALID_OPTION')
      expect(String(error)).toContain('partitionKeyRangeId')
    }
  })

  test('LE-8 discardExistingLeases begins anew once for each token, and running hosts lose their leases', async () => {
    const one = newFleet()
    write(one, 32)
    const a = await one.start('a')
    await one.until(() => one.isDrained())
    one.deliveries.length = 0
    const hostOptions = { discardExistingLeases: 'deploy-7' }
    await one.start('b', { hostOptions })
    await one.start('c', { hostOptions })
    await one.until(() => one.isBalanced(4))
    await one.advance(1_000)
    expect(one.eventsOf(a, 'leaseLost')).toHaveLength(4)
    expect(a.host.health().status).toBe('running')
    expect(one.deliveries.flatMap(({ changes }) => changes)).toHaveLength(32)
  })

  test('a lease store that is unreachable at start: rejects after startTimeoutMs, nothing left running', async () => {
    const one = newFleet()
    const a = one.create('a', { hostOptions: { startTimeoutMs: 10_000 } })
    for (const link of ['down', 'silent'] as const) {
      const member =
        link === 'down' ? a : one.create('b', { hostOptions: { startTimeoutMs: 10_000 } })
      member.store.link = link
      const startMs = one.clock.monotonicMs()
      const error = await one.run(one.register(member).catch((e: unknown) => e))
      expect(errorCode(error)).toBe('ERR_LEASE_STORE_UNAVAILABLE')
      expect(one.clock.monotonicMs() - startMs).toBeLessThanOrEqual(10_100)
      expect(one.clock.sleeping).toBe(0)
      expect(member.host.health().status).toBe('stopped')
    }
  })

  test('a lease store that comes back in time: the host starts', async () => {
    const one = newFleet()
    const a = one.create('a')
    a.store.link = 'down'
    const registered = one.register(a)
    await one.advance(5_000)
    a.store.link = 'up'
    await one.run(registered)
    await one.until(() => one.counts()['a'] === 4)
  })

  test('one call at start that never answers does not cost the start', async () => {
    const one = newFleet()
    const a = one.create('a')
    a.store.link = 'silent'
    const registered = one.register(a)
    await one.advance(100)
    a.store.link = 'up'
    await one.run(registered)
    expect(one.clock.monotonicMs()).toBeLessThan(12_000)
  })

  test('PH-11 unregisterObservers during a start ends it with ERR_HOST_STOPPED; a host has one life', async () => {
    const one = newFleet()
    const a = one.create('a')
    a.store.link = 'silent'
    const registered = one.register(a).catch((error: unknown) => errorCode(error))
    await one.advance(100)
    await one.stop(a)
    expect(await registered).toBe('ERR_HOST_STOPPED')
    expect(one.clock.sleeping).toBe(0)
    a.store.link = 'up'
    expect(await one.register(a).catch((error: unknown) => errorCode(error))).toBe(
      'ERR_HOST_STOPPED',
    )
    const b = await one.start('b')
    expect(await one.register(b).catch((error: unknown) => errorCode(error))).toBe(
      'ERR_INVALID_OPTION',
    )
  })

  test('PH-11 after unregisterObservers no timer is left', async () => {
    const one = newFleet()
    const a = await one.start('a')
    write(one, 32)
    await one.until(() => one.isDrained())
    await one.stop(a)
    expect(one.clock.sleeping).toBe(0)
    await one.stop(a)
  })
})
