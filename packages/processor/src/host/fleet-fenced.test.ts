import { afterEach, describe, expect, test } from 'vitest'
import type { Checkpoint } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FleetHost, type FleetOptions } from '@tidemark/testing'
import { ProcessorGroup } from '../administration/processor-group.ts'
import { FencingSink } from './fencing-sink.fixture.ts'
import type { HostOptions } from './host-options.ts'
import { LetterBox, POISON, accepted, write } from './letter-box.fixture.ts'

const LEASE = '-FF'
const TTL_MS = 8_000
const HEARTBEAT_MS = 2_000

let fleet: Fleet | undefined
let sink: FencingSink
let box: LetterBox
let hasLanes = false

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  await ended.end()
  assertFleetHistory(ended, { bisects: true, lanes: hasLanes })
})

function newFleet(hostOptions: HostOptions = {}, options: FleetOptions = {}): Fleet {
  sink = new FencingSink()
  box = new LetterBox()
  hasLanes = (hostOptions.maxConcurrentKeys ?? 1) > 1
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 8 },
    deadLetters: box,
    hostOptions: { retryDelayMs: 50, retryMaxDelayMs: 400, ...hostOptions },
    behaviour: (context, changes) => sink.write(context, changes),
    ...options,
  })
  return fleet
}

async function stored(one: Fleet): Promise<{ epoch: number; checkpoint: Checkpoint }> {
  const group = await one.leases.openGroup('group')
  return (await group.read()).leases[0]!
}

function isOf(host: string): (one: { readonly host: string }) => boolean {
  return (one) => one.host === host
}

/** The sink has what the feed has, in its order, but for what came again. */
function expectWhole(one: Fleet): void {
  expect([...new Set(sink.writes.map(({ id }) => id))]).toEqual(
    one.feed.changes.map(({ id }) => id),
  )
}

describe('a lease store that forgot a newer owner', () => {
  test('LE-11 PH-4 whose epoch a clock an hour ahead gave: the next one is above it, and the range goes on', async () => {
    const one = newFleet()
    const aheadUs = (one.clock.wallMs() + 3_600_000) * 1_000
    sink.seen(LEASE, aheadUs)
    const a = await one.start('a')
    const beganMs = one.clock.monotonicMs()
    write(one, 24)
    await one.until(() => one.isDrained(), 3 * TTL_MS)
    expect(one.clock.monotonicMs() - beganMs).toBeLessThan(TTL_MS + 2 * HEARTBEAT_MS)
    expect(one.eventsOf(a, 'leaseFenced')).toMatchObject([{ currentEpoch: aheadUs }])
    expect(sink.writes.at(-1)!.epoch).toBe(aheadUs + 1)
    expectWhole(one)
  })

  test('LE-11 an epoch that no clock reaches is not gone beyond', async () => {
    const one = newFleet()
    sink.seen(LEASE, Number.MAX_SAFE_INTEGER)
    const a = await one.start('a')
    write(one, 8)
    await one.until(() => one.eventsOf(a, 'leaseFenced').length > 1)
    expect((await stored(one)).epoch).toBeLessThan(2 * one.clock.wallMs() * 1_000)
    sink.seen(LEASE, 0)
    await one.until(() => one.isDrained(), 8 * TTL_MS)
  })

  test('LE-11 PH-4 goes back to before a release: the old owner is refused, and the range goes on by itself', async () => {
    const two = newFleet()
    const z = await two.start('z')
    await two.until(() => two.isBalanced())
    write(two, 16)
    await two.until(() => two.isDrained())
    await two.advance(HEARTBEAT_MS)
    const snapshot = two.memory.snapshot()
    // The owner does not hear of the release, and has nothing to do.
    z.store.link = 'down'
    await new ProcessorGroup({ leases: two.leases, group: 'group', clock: two.clock }).release(
      LEASE,
    )
    const b = await two.start('b')
    await two.until(() => two.counts()['b'] === 1)
    write(two, 8)
    await two.until(() => two.isDrained())
    const newest = sink.writes.at(-1)!.epoch
    expect(sink.writes.at(-1)!.host).toBe('b')
    // The last writes are lost: the old owner owns it again, at its old epoch.
    two.memory.restore(snapshot)
    z.store.link = 'up'
    const beganMs = two.clock.monotonicMs()
    write(two, 24)
    await two.until(() => two.eventsOf(z, 'leaseFenced').length > 0)
    const [fenced] = two.eventsOf(z, 'leaseFenced')
    expect(fenced).toMatchObject({ leaseId: LEASE, currentEpoch: newest })
    expect(fenced!.epoch).toBeLessThan(newest)
    expect(z.host.health().leases).toMatchObject([{ state: 'fenced' }])
    expect(z.host.health().status).toBe('degraded')
    await two.until(() => two.isDrained())
    expect(two.clock.monotonicMs() - beganMs).toBeLessThan(TTL_MS + 2 * HEARTBEAT_MS)
    expect(two.eventsOf(z, 'leaseReleased')).toMatchObject([{ reason: 'fenced' }])
    expectWhole(two)
    expect(sink.writes.at(-1)!.epoch).toBeGreaterThan(newest)
    // Nobody is refused any more, and the lease stays where it is.
    const { refusals } = sink
    write(two, 8)
    await two.until(() => two.isDrained())
    await two.advance(10 * TTL_MS)
    expect(sink.refusals).toBe(refusals)
    expect(two.eventsOf(z, 'leaseFenced').length + two.eventsOf(b, 'leaseFenced').length).toBe(1)
    expect(z.host.health().status).toBe('running')
  })

  test('LE-11 PH-4 goes back to before a take-over from an owner that was stopped: the range goes on by itself', async () => {
    const two = newFleet()
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    await two.start('b')
    write(two, 16)
    await two.until(() => two.isDrained())
    await two.advance(HEARTBEAT_MS)
    const snapshot = two.memory.snapshot()
    a.gate.freeze()
    write(two, 8)
    await two.until(() => sink.writes.some(isOf('b')))
    await two.until(() => two.isDrained())
    two.memory.restore(snapshot)
    a.gate.thaw()
    write(two, 8)
    await two.until(() => two.isDrained(), 3 * TTL_MS)
    write(two, 8)
    await two.until(() => two.isDrained(), TTL_MS)
    expectWhole(two)
  })
})

describe('an owner that is stale', () => {
  test('LE-11 I3 never wins: it loses the lease, gives nothing back, and the newer one works on undisturbed', async () => {
    const two = newFleet()
    const a = await two.start('a')
    await two.until(() => two.isBalanced())
    const b = await two.start('b')
    let wake = (): void => {}
    two.behaviour = async (context, changes) => {
      if (context.hostName === 'a') await new Promise<void>((resolve) => (wake = resolve))
      sink.write(context, changes)
    }
    write(two, 8)
    await two.until(() => two.deliveries.length === 1)
    a.gate.freeze()
    await two.until(() => two.isDrained())
    const { epoch } = await stored(two)
    expect(sink.writes.every(isOf('b'))).toBe(true)
    // Awake again, the first that happens is that it writes.
    wake()
    await two.advance(1)
    a.gate.thaw()
    await two.until(() => sink.refusals === 1)
    for (let round = 0; round < 10; round += 1) {
      write(two, 8)
      await two.until(() => two.isDrained())
      await two.advance(TTL_MS)
    }
    expect(two.eventsOf(a, 'leaseLost')).toHaveLength(1)
    expect(two.eventsOf(a, 'leaseReleased')).toEqual([])
    expect(two.eventsOf(b, 'leaseFenced')).toEqual([])
    expect(two.eventsOf(b, 'leaseAcquired')).toHaveLength(1)
    expect(await stored(two)).toMatchObject({ epoch })
    expect(sink.refusals).toBe(1)
    expect(sink.writes.every(isOf('b'))).toBe(true)
  })

  test('LE-11 of another group that writes to the same place does not fight for it: each is refused ever more rarely', async () => {
    const one = newFleet()
    const a = await one.start('a')
    // Whoever it is: as soon as this group has written, it has a newer epoch.
    let others = 0
    one.behaviour = (context, changes) => {
      sink.write(context, changes)
      others += 1
      sink.seen(context.leaseId, context.fence.epoch + 1)
    }
    write(one, 8)
    await one.until(() => others === 1)
    const beganMs = one.clock.monotonicMs()
    for (let minute = 0; minute < 40; minute += 1) {
      write(one, 8)
      await one.advance(15_000)
    }
    const minutes = (one.clock.monotonicMs() - beganMs) / 60_000
    expect(minutes).toBe(10)
    expect(one.eventsOf(a, 'leaseFenced').length).toBeGreaterThan(5)
    expect(one.eventsOf(a, 'leaseFenced').length).toBeLessThan(15)
    one.behaviour = (context, changes) => sink.write(context, changes)
    await one.until(() => one.isDrained(), 120_000)
    expectWhole(one)
  })
})

describe('a refused write is nobody’s fault', () => {
  test.each([1, 4])(
    'PH-7 no change becomes a dead letter of it, and no try counts, with %i keys at a time',
    async (maxConcurrentKeys) => {
      const failurePolicy = { mode: 'deadLetter', maxAttempts: 2 } as const
      const one = newFleet({ failurePolicy, maxConcurrentKeys })
      const a = await one.start('a')
      await one.until(() => one.isBalanced())
      for (let round = 0; round < 4; round += 1) {
        const { epoch } = await stored(one)
        sink.seen(LEASE, epoch + 1)
        write(one, 8)
        await one.until(() => one.eventsOf(a, 'leaseFenced').length === round + 1)
        await one.advance(100)
        const { checkpoint } = await stored(one)
        expect(checkpoint.attempts).toBeUndefined()
        expect(checkpoint.lsn).toBe(8 * round)
        await one.until(() => one.isDrained(), 70_000)
        await one.advance(100)
      }
      expect(sink.refusals).toBeGreaterThanOrEqual(4)
      expect(Math.max(...one.deliveries.map(({ attempt }) => attempt))).toBe(1)
      expect([box.puts, one.eventsOf(a, 'batchBisected').length]).toEqual([0, 0])
      expect(one.eventsOf(a, 'observerError')).toEqual([])
      expect(accepted(one)).toHaveLength(32)
    },
  )

  test('PH-7 tries that failed before it are kept', async () => {
    const failurePolicy = { mode: 'deadLetter', maxAttempts: 3 } as const
    const one = newFleet({ failurePolicy })
    let calls = 0
    one.behaviour = (context, changes) => {
      calls += 1
      if (calls === 1) throw POISON
      if (calls === 2) sink.seen(context.leaseId, context.fence.epoch + 1)
      if (calls === 3) throw POISON
      sink.write(context, changes)
    }
    write(one, 8)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'leaseFenced').length === 1)
    await one.advance(100)
    expect((await stored(one)).checkpoint.attempts).toMatchObject({ count: 1 })
    await one.until(() => one.isDrained(), 3 * TTL_MS)
    expect(one.deliveries.map(({ attempt }) => attempt)).toEqual([1, 2, 2, 3])
    expect(box.puts).toBe(0)
  })

  test('PH-7 a letter that a sink refuses is kept at the next epoch', async () => {
    const failurePolicy = { mode: 'deadLetter', maxAttempts: 1 } as const
    const one = newFleet({ failurePolicy })
    one.behaviour = (context, changes) => {
      if (changes.some(({ lsn }) => lsn === 4)) throw POISON
      sink.write(context, changes)
    }
    box.before = (operation) => {
      if (operation !== 'put' || box.puts > 1) return
      const { epoch } = one.deliveries.at(-1)!
      sink.seen(LEASE, epoch + 1)
      sink.admit(LEASE, epoch)
    }
    write(one, 8)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'leaseFenced').length === 1)
    expect(box.letters.size).toBe(0)
    await one.until(() => box.letters.size === 1 && accepted(one).length === 7, 3 * TTL_MS)
    expect(one.eventsOf(a, 'deadLetterFailed')).toEqual([])
  })

  test('PH-2 an observer that is refused while it opens is closed, and opened anew at a new epoch', async () => {
    let isFirst = true
    const one = newFleet(
      {},
      {
        lifecycle: ({ leaseId, fence: { epoch } }, call) => {
          if (call !== 'open') return
          if (isFirst) sink.seen(leaseId, epoch + 1)
          isFirst = false
          sink.admit(leaseId, epoch)
        },
      },
    )
    write(one, 8)
    const a = await one.start('a')
    await one.until(() => one.isDrained(), 3 * TTL_MS)
    expect(one.calls.slice(0, 3)).toMatchObject([
      { call: 'open' },
      { call: 'close', reason: 'fenced' },
      { call: 'open' },
    ])
    expect(one.eventsOf(a, 'observerError')).toEqual([])
    const [first, again] = one.eventsOf(a, 'leaseAcquired')
    expect(again!.epoch).toBeGreaterThan(first!.epoch)
  })

  test('an error with a fence of something else is a failure like any other', async () => {
    const one = newFleet()
    let calls = 0
    one.behaviour = (context) => {
      calls += 1
      if (calls > 2) return
      const other = new FencingSink()
      other.seen('its own', 9)
      other.admit('its own', calls + context.attempt)
    }
    write(one, 8)
    const a: FleetHost = await one.start('a')
    await one.until(() => one.isDrained())
    expect(one.eventsOf(a, 'leaseFenced')).toEqual([])
    expect(one.eventsOf(a, 'observerError')).toHaveLength(2)
  })
})
