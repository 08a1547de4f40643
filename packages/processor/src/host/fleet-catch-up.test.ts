import { errorCode } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FleetOptions } from '@tidemark/testing'
import { afterEach, describe, expect, test } from 'vitest'

const fleets: { readonly fleet: Fleet; readonly lanes: boolean }[] = []
afterEach(async () => {
  for (const { fleet, lanes } of fleets.splice(0)) {
    assertFleetHistory(fleet, { lanes })
    await fleet.end()
  }
})

function newFleet(options: FleetOptions = {}): Fleet {
  const fleet = new Fleet({
    ranges: 4,
    feedOptions: { startFromBeginning: true, maxItemCount: 5 },
    ...options,
  })
  fleets.push({ fleet, lanes: options.hostOptions?.maxConcurrentKeys !== undefined })
  return fleet
}

function write(fleet: Fleet, changes: number): void {
  for (let n = 0; n < changes; n += 1) fleet.feed.append(`key-${n % 20}`)
}

async function storedLsns({ leases }: Fleet): Promise<readonly number[]> {
  const { leases: stored } = await (await leases.openGroup('group')).read()
  return stored.map(({ checkpoint }) => checkpoint.lsn)
}

async function sessions({ leases }: Fleet): Promise<readonly string[]> {
  return (await (await leases.openGroup('group')).read()).hosts.map(({ host }) => host)
}

function newestLsns({ feed }: Fleet): readonly number[] {
  return feed.ranges.map((_, index) => feed.changesOf(index).at(-1)?.lsn ?? 0)
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => errorCode(error) ?? String(error),
  )
}

/** What it has come to, without waiting for it. */
function followed(work: Promise<unknown>): { isOver: boolean } {
  const state = { isOver: false }
  const over = (): void => {
    state.isOver = true
  }
  work.then(over, over)
  return state
}

describe('a job', () => {
  test('PH-11 it does all that is there, stores where it stands, leaves, and tells how much it was', async () => {
    const fleet = newFleet()
    write(fleet, 100)
    const member = fleet.create('job')
    const run = await fleet.run(fleet.runUntilCaughtUp(member))
    expect(fleet.isDrained()).toBe(true)
    expect(run).toMatchObject({ changes: 100, batches: fleet.deliveries.length, deadLetters: 0 })
    expect(run.durationMs).toBeGreaterThan(0)
    expect(await storedLsns(fleet)).toEqual(newestLsns(fleet))
    expect(await sessions(fleet)).toEqual([])
    expect(member.host.health().status).toBe('stopped')
    expect(fleet.clock.sleeping).toBe(0)
    expect(fleet.duplicates().size).toBe(0)

    // The next one goes on there.
    write(fleet, 10)
    const next = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
    expect(next.changes).toBe(10)
  })

  test('a feed without anything, and a group that begins now, are done at once', async () => {
    const empty = newFleet()
    expect(await empty.run(empty.runUntilCaughtUp(empty.create('job')))).toMatchObject({
      changes: 0,
      batches: 0,
    })
    const now = newFleet({ feedOptions: {} })
    write(now, 50)
    const job = now.runUntilCaughtUp(now.create('job'))
    expect(await now.run(job)).toMatchObject({ changes: 0 })
    write(now, 7)
    expect(await now.run(now.runUntilCaughtUp(now.create('job')))).toMatchObject({ changes: 7 })
  })

  test('what is written after the call is not waited for', async () => {
    const fleet = newFleet({ ranges: 2 })
    write(fleet, 40)
    // Each batch brings more than it takes away.
    fleet.behaviour = async () => {
      await fleet.clock.sleep(10, new AbortController().signal)
      if (fleet.feed.changes.length < 5_000) write(fleet, 10)
    }
    const run = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
    expect(run.changes).toBeGreaterThanOrEqual(40)
    expect(fleet.feed.changes.length).toBeLessThan(5_000)
  })

  for (const checkpointFrequency of [
    'manual',
    { everyChanges: 1_000_000 },
    { everyMs: 3_600_000 },
  ] as const) {
    test(`PH-5 what its observers accepted counts before it is stored: ${JSON.stringify(checkpointFrequency)}`, async () => {
      const fleet = newFleet({ hostOptions: { checkpointFrequency } })
      write(fleet, 100)
      const run = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
      expect(run).toMatchObject({ changes: 100 })
      expect(run.durationMs).toBeLessThan(10_000)
      const nothing = newestLsns(fleet).map(() => 0)
      const stored = checkpointFrequency === 'manual' ? nothing : newestLsns(fleet)
      expect(await storedLsns(fleet)).toEqual(stored)
    })
  }

  test('PH-8 the same with lanes', async () => {
    const fleet = newFleet({ hostOptions: { maxConcurrentKeys: 4 } })
    write(fleet, 100)
    fleet.behaviour = () => fleet.clock.sleep(20, new AbortController().signal)
    const run = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
    expect(run.changes).toBe(100)
    expect(await storedLsns(fleet)).toEqual(newestLsns(fleet))
  })

  test('LE-10 ranges may be split and merged meanwhile', async () => {
    const fleet = newFleet({ ranges: 2 })
    write(fleet, 60)
    let batches = 0
    fleet.behaviour = () => {
      batches += 1
      if (batches === 2) fleet.feed.split(fleet.feed.ranges[0]!)
      if (batches === 4) fleet.feed.merge(fleet.feed.ranges[1]!)
    }
    const run = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
    expect(fleet.feed.reshapes).toBe(2)
    expect(fleet.isDrained()).toBe(true)
    expect(run.changes).toBeGreaterThanOrEqual(60)
  })
})

describe('beside others', () => {
  test('it waits for what other hosts of the group have in hand', async () => {
    const fleet = newFleet()
    const hold = Promise.withResolvers<void>()
    await fleet.start('other')
    fleet.behaviour = ({ hostName }) => (hostName === 'other' ? hold.promise : undefined)
    write(fleet, 80)
    await fleet.until(() => fleet.deliveries.length > 0)
    const job = fleet.runUntilCaughtUp(fleet.create('job'))
    const state = followed(job)
    await fleet.advance(20_000)
    expect(state.isOver).toBe(false)
    expect(await sessions(fleet)).toEqual(['job', 'other'])
    hold.resolve()
    const run = await fleet.run(job)
    expect(fleet.isDrained()).toBe(true)
    expect(run.changes).toBeLessThan(80)
    expect(await sessions(fleet)).toEqual(['other'])
  })

  test('several that run at once share the work, and all of them end', async () => {
    const fleet = newFleet({ ranges: 8 })
    write(fleet, 400)
    fleet.behaviour = () => fleet.clock.sleep(100, new AbortController().signal)
    const jobs = ['a', 'b', 'c'].map((name) => fleet.runUntilCaughtUp(fleet.create(name)))
    const runs = await fleet.run(Promise.all(jobs))
    expect(fleet.isDrained()).toBe(true)
    expect(fleet.duplicates().size).toBe(0)
    expect(runs.reduce((sum, { changes }) => sum + changes, 0)).toBe(400)
    expect(await sessions(fleet)).toEqual([])
  })

  test('one that dies in the middle is taken over from', async () => {
    const fleet = newFleet()
    write(fleet, 80)
    const dying = await fleet.start('dying', {})
    await fleet.until(() => fleet.deliveries.length > 2)
    fleet.kill(dying)
    await fleet.run(fleet.runUntilCaughtUp(fleet.create('job')))
    expect(fleet.isDrained()).toBe(true)
  })
})

describe('what fails', () => {
  test('PH-7 an observer that fails for a while is tried again', async () => {
    const fleet = newFleet()
    write(fleet, 20)
    let failures = 0
    fleet.behaviour = ({ attempt }) => {
      if (attempt > 3) return
      failures += 1
      throw new Error('not yet')
    }
    const run = await fleet.run(fleet.runUntilCaughtUp(fleet.create('job'), { timeoutMs: 60_000 }))
    expect(failures).toBeGreaterThan(3)
    expect(run.changes).toBe(20)
  })

  test('PH-7 when it never succeeds time is up, with its error, and nothing is left running', async () => {
    const fleet = newFleet({ ranges: 2 })
    write(fleet, 20)
    const failure = new Error('never')
    fleet.behaviour = () => Promise.reject(failure)
    const member = fleet.create('job')
    const job = fleet.runUntilCaughtUp(member, { timeoutMs: 20_000 })
    await expect(fleet.run(job)).rejects.toMatchObject({
      code: 'ERR_NOT_CAUGHT_UP',
      cause: failure,
      message: expect.stringMatching(/20000 ms: 2 leases are behind, .* of job, at LSN 0 of \d+$/),
    })
    expect(await sessions(fleet)).toEqual([])
    expect(member.host.health().status).toBe('stopped')
    expect(fleet.clock.sleeping).toBe(0)
  })

  test('a signal ends it: what is in flight is finished and stored', async () => {
    const fleet = newFleet({ ranges: 1 })
    write(fleet, 20)
    fleet.behaviour = () => fleet.clock.sleep(1_000, new AbortController().signal)
    const abort = new AbortController()
    const member = fleet.create('job')
    const job = fleet.runUntilCaughtUp(member, { signal: abort.signal })
    const outcome = codeOf(job)
    await fleet.until(() => fleet.deliveries.length === 2)
    abort.abort('enough')
    expect(await fleet.run(outcome)).toBe('enough')
    expect(fleet.deliveries.map((delivery) => delivery.outcome)).toEqual(['done', 'done'])
    expect(await storedLsns(fleet)).toEqual([10])
    expect(await sessions(fleet)).toEqual([])
    expect(fleet.clock.sleeping).toBe(0)
    const late = fleet.create('late')
    expect(await codeOf(fleet.runUntilCaughtUp(late, { signal: abort.signal }))).toBe('enough')
  })

  test('PH-7 a range that is halted ends it at once', async () => {
    const fleet = newFleet({
      hostOptions: { failurePolicy: { mode: 'haltRange', maxAttempts: 2 } },
    })
    write(fleet, 20)
    const failure = new Error('poison')
    fleet.behaviour = () => Promise.reject(failure)
    const job = fleet.runUntilCaughtUp(fleet.create('job'))
    await expect(fleet.run(job)).rejects.toMatchObject({
      code: 'ERR_NOT_CAUGHT_UP',
      message: expect.stringContaining('is halted'),
      cause: failure,
    })
    expect(await sessions(fleet)).toEqual([])
  })

  test('TTL-15 a range that was purged of what the group had not read ends it at once', async () => {
    const fleet = newFleet()
    write(fleet, 20)
    await fleet.run(fleet.runUntilCaughtUp(fleet.create('first')))
    write(fleet, 20)
    fleet.feed.passHorizon(fleet.feed.ranges[0]!)
    const job = fleet.runUntilCaughtUp(fleet.create('late'))
    await expect(fleet.run(job)).rejects.toMatchObject({
      code: 'ERR_NOT_CAUGHT_UP',
      cause: expect.objectContaining({ code: 'ERR_HORIZON_PASSED' }),
    })
  })

  test('a lease store that cannot be reached is told as at any start; one that goes and comes back is not', async () => {
    const fleet = newFleet({ hostOptions: { startTimeoutMs: 5_000 } })
    write(fleet, 40)
    const never = fleet.create('never')
    never.store.link = 'down'
    expect(await fleet.run(codeOf(fleet.runUntilCaughtUp(never)))).toBe(
      'ERR_LEASE_STORE_UNAVAILABLE',
    )
    fleet.behaviour = () => fleet.clock.sleep(200, new AbortController().signal)
    const member = fleet.create('job')
    const job = fleet.runUntilCaughtUp(member)
    await fleet.until(() => fleet.deliveries.length > 0)
    member.store.link = 'down'
    await fleet.advance(4_000)
    member.store.link = 'up'
    await fleet.run(job)
    expect(fleet.isDrained()).toBe(true)
  })

  test('a host that works or has worked is refused, and goes on undisturbed', async () => {
    const fleet = newFleet()
    const member = await fleet.start('working')
    expect(await codeOf(fleet.runUntilCaughtUp(member))).toBe('ERR_INVALID_OPTION')
    write(fleet, 20)
    await fleet.until(() => fleet.isDrained())
    await fleet.stop(member)
    expect(await codeOf(fleet.runUntilCaughtUp(member))).toBe('ERR_HOST_STOPPED')
  })

  test('one that is stopped by somebody else says so', async () => {
    const fleet = newFleet()
    write(fleet, 20)
    const hold = Promise.withResolvers<void>()
    fleet.behaviour = () => hold.promise
    const member = fleet.create('job')
    const outcome = codeOf(fleet.runUntilCaughtUp(member))
    await fleet.until(() => fleet.deliveries.length > 0)
    const stopping = member.host.unregisterObservers()
    hold.resolve()
    await fleet.run(stopping)
    expect(await fleet.run(outcome)).toBe('ERR_HOST_STOPPED')
  })
})
