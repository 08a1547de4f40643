import { afterEach, describe, expect, test } from 'vitest'
import { errorCode, type BatchAttempts } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FleetOptions } from '@tidemark/testing'
import type { HostOptions } from './host-options.ts'
import { LetterBox, POISON, accepted, failsOn, write } from './letter-box.fixture.ts'

let fleet: Fleet | undefined
let box: LetterBox

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  await ended.end()
})

function newFleet(hostOptions: HostOptions, options: FleetOptions = {}): Fleet {
  box = new LetterBox()
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 64 },
    deadLetters: box,
    hostOptions: { retryDelayMs: 50, retryMaxDelayMs: 400, ...hostOptions },
    ...options,
  })
  return fleet
}

async function storedAttempts(target: Fleet): Promise<readonly (BatchAttempts | undefined)[]> {
  const group = await target.leases.openGroup('group')
  const { leases } = await group.read()
  return leases.map(({ checkpoint }) => checkpoint.attempts)
}

describe('dead letters', () => {
  test('PH-7 a poison document is isolated, kept with its cause, and the range goes on in order', async () => {
    const one = newFleet({ failurePolicy: { mode: 'deadLetter', maxAttempts: 3 } })
    write(one, 200)
    const ids = one.feed.changes.map(({ id }) => id)
    const poison = ids[77]!
    one.behaviour = failsOn(poison)
    const a = await one.start('a')
    await one.until(() => accepted(one).length === 199)
    expect(accepted(one)).toEqual(ids.filter((id) => id !== poison))
    expect([...box.letters.values()]).toEqual([
      expect.objectContaining({
        group: 'group',
        feed: one.feed.identity,
        lsn: 78,
        attempts: 3,
        hostName: 'a',
        change: one.feed.changes[77],
        error: expect.objectContaining({ name: 'Error', message: 'poison' }),
      }),
    ])
    expect(one.eventsOf(a, 'deadLettered')).toEqual([
      expect.objectContaining({ id: poison, lsn: 78, attempts: 3, error: POISON }),
    ])
    assertFleetHistory(one)
    await one.stop(a)
    const group = await one.leases.openGroup('group')
    const [lease] = (await group.read()).leases
    expect([lease?.checkpoint.lsn, lease?.checkpoint.attempts]).toEqual([200, undefined])
  })

  test('PH-7 several of one transaction go one by one', async () => {
    const one = newFleet({ failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } })
    one.feed.append('k', 20)
    write(one, 10)
    const ids = one.feed.changes.map(({ id }) => id)
    const bad = [ids[3]!, ids[4]!, ids[19]!]
    one.behaviour = failsOn(...bad)
    await one.start('a')
    await one.until(() => accepted(one).length === 27)
    expect(accepted(one)).toEqual(ids.filter((id) => !bad.includes(id)))
    expect([...box.letters.values()].map(({ change }) => change.id)).toEqual(bad)
  })

  test('PH-7 tries are kept with the lease: the next owner does not begin to count anew', async () => {
    const one = newFleet({
      failurePolicy: { mode: 'deadLetter', maxAttempts: 4 },
      retryDelayMs: 400,
    })
    write(one, 1)
    one.behaviour = failsOn(one.feed.changes[0]!.id)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'observerError').length === 2)
    one.kill(a)
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'deadLettered').length === 1)
    const attempts = one.deliveries.filter(({ host }) => host === 'b').map(({ attempt }) => attempt)
    expect(attempts.at(-1)).toBe(4)
    expect(attempts[0]).toBeGreaterThanOrEqual(3)
    expect(box.letters.size).toBe(1)
  })

  test('PH-7 a change that kills each process that touches it is set aside in the end, the rest is processed', async () => {
    const one = newFleet(
      { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } },
      { feedOptions: { startFromBeginning: true, maxItemCount: 8 } },
    )
    write(one, 16)
    const poison = one.feed.changes[5]!.id
    let deaths = 0
    one.behaviour = async (_context, changes) => {
      if (!changes.some(({ id }) => id === poison)) return
      deaths += 1
      one.kill(one.hosts.at(-1)!)
    }
    for (let n = 0; n < 30 && box.letters.size === 0; n += 1) {
      await one.start(`host${n}`)
      const before = deaths
      await one.clock.advanceUntil(() => deaths > before || box.letters.size > 0, {
        limitMs: 60_000,
      })
    }
    await one.until(() => accepted(one).length === 15)
    expect([...box.letters.values()].map(({ change, error }) => [change.id, error.name])).toEqual([
      [poison, 'ProcessEndedError'],
    ])
    // Two of the whole, one each of four, two and (if it was cut so) one more, two alone; nobody marks the first of all.
    expect(deaths).toBeLessThanOrEqual(8)
    assertFleetHistory(one)
  })

  test('PH-7 a sink that takes no letters holds the range: nothing is dropped', async () => {
    const one = newFleet({ failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } })
    box.refuses = 5
    write(one, 3)
    one.behaviour = failsOn(one.feed.changes[1]!.id)
    const a = await one.start('a')
    await one.until(() => accepted(one).length === 2)
    expect(one.eventsOf(a, 'deadLetterFailed')).toHaveLength(5)
    expect(box.puts).toBe(6)
    expect(box.letters.size).toBe(1)
  })

  test('PH-7 when everything fails it is not the changes: no letters above the bound, and it goes on by itself', async () => {
    const one = newFleet({
      failurePolicy: { mode: 'deadLetter', maxAttempts: 1, maxConsecutiveDeadLetters: 3 },
    })
    write(one, 10)
    let isDown = true
    one.behaviour = () => {
      if (isDown) throw new Error('the database is down')
    }
    const a = await one.start('a')
    await one.advance(60_000)
    expect(box.letters.size).toBe(3)
    expect(one.eventsOf(a, 'deadLettersSuspended')).toEqual([
      expect.objectContaining({ consecutive: 3 }),
    ])
    isDown = false
    await one.until(() => accepted(one).length === 7)
    expect(box.letters.size).toBe(3)
  })

  test('PH-7 a letter that is sent back comes by itself, marked, between two batches, and goes when it is accepted', async () => {
    const one = newFleet({
      failurePolicy: { mode: 'deadLetter', maxAttempts: 1 },
      redrivePollMs: 1_000,
    })
    write(one, 20)
    const poison = one.feed.changes[4]!
    const redriven: boolean[] = []
    let isRepaired = false
    one.behaviour = (context, changes) => {
      if (!changes.some(({ id }) => id === poison.id)) return
      if (context.redriven) {
        expect(changes).toEqual([poison])
        redriven.push(isRepaired)
      }
      if (!isRepaired) throw POISON
    }
    const a = await one.start('a')
    await one.until(() => box.letters.size === 1)
    const [id] = box.letters.keys()
    box.sentBack.add(id!)
    await one.until(() => redriven.length === 1)
    await one.until(() => box.sentBack.size === 0)
    // Still broken: a dead letter again, not two.
    expect(box.letters.size).toBe(1)
    isRepaired = true
    box.sentBack.add(id!)
    await one.until(() => box.letters.size === 0)
    expect(redriven).toEqual([false, true])
    expect(one.eventsOf(a, 'redriven')).toHaveLength(1)
  })

  test('PH-7 without a place for letters the option is refused', () => {
    expect(() =>
      new Fleet({ hostOptions: { failurePolicy: 'deadLetter' } }).create('a'),
    ).toThrowError(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  })
})

describe('a range that halts', () => {
  test('PH-7 stands still after its tries, others go on; released, it gets one try more', async () => {
    const one = newFleet({ failurePolicy: { mode: 'haltRange', maxAttempts: 3 } }, { ranges: 2 })
    write(one, 40)
    const poison = one.feed.changes[0]!
    let isRepaired = false
    one.behaviour = (_context, changes) => {
      if (!isRepaired && changes.some(({ id }) => id === poison.id)) throw POISON
    }
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'rangeHalted').length === 1)
    const [halted] = one.eventsOf(a, 'rangeHalted')
    expect(halted).toEqual(expect.objectContaining({ attempts: 3, error: POISON }))
    const tries = one.deliveries.length
    await one.advance(60_000)
    const ofHalted = one.deliveries.filter(({ leaseId }) => leaseId === halted!.leaseId)
    expect(ofHalted).toHaveLength(3)
    expect(one.deliveries.length).toBeGreaterThanOrEqual(tries)
    expect(a.host.health().status).toBe('degraded')
    // Whoever opens it again makes one try.
    expect(await storedAttempts(one)).toContainEqual(expect.objectContaining({ count: 2, size: 0 }))
    const release = async (): Promise<void> => {
      const group = await one.leases.openGroup('group')
      const lease = (await group.read()).leases.find(({ id }) => id === halted!.leaseId)!
      await group.override({
        old: [{ leaseId: lease.id, epoch: lease.epoch }],
        next: [{ range: lease.range, checkpoint: lease.checkpoint }],
      })
    }
    await one.run(release())
    await one.until(() => one.eventsOf(a, 'rangeHalted').length === 2)
    isRepaired = true
    await one.run(release())
    await one.until(() => accepted(one).length === 40)
    assertFleetHistory(one)
  })
})

describe('a call that hangs', () => {
  test('PH-10 PH-7 is aborted after maxBatchMs; its lease goes to another host, which goes on; the first one refuses it', async () => {
    const one = newFleet({ maxBatchMs: 5_000, abortGraceMs: 1_000 }, { ranges: 4 })
    let aborted = 0
    one.behaviour = async ({ hostName, signal, leaseId }) => {
      if (hostName !== 'a' || !leaseId.startsWith('-')) return
      signal.addEventListener('abort', () => (aborted += 1))
      await new Promise<never>(() => {})
    }
    const a = await one.start('a')
    const b = await one.start('b')
    await one.until(() => one.isBalanced())
    for (let n = 0; n < 64; n += 1) one.feed.append(`key${n}`)
    const isStuck = one.calls.some(({ call, host, leaseId }) => {
      return call === 'open' && host === 'a' && leaseId.startsWith('-')
    })
    expect(isStuck).toBe(true)
    const waitedMs = await one.until(() => one.isDrained(), 60_000)
    expect(waitedMs).toBeLessThan(5_000 + 1_000 + 2_000)
    expect(aborted).toBe(1)
    const [stuck] = one.eventsOf(a, 'observerStuck')
    expect(stuck?.leaseId.startsWith('-')).toBe(true)
    expect(errorCode(stuck?.error)).toBe('ERR_OBSERVER_STUCK')
    expect(one.eventsOf(a, 'leaseReleased').map(({ reason }) => reason)).toContain('observerStuck')
    expect(one.calls).toContainEqual(
      expect.objectContaining({ host: 'a', call: 'close', reason: 'observerStuck' }),
    )
    expect(b.host.health().leases.map(({ leaseId }) => leaseId)).toContain(stuck?.leaseId)
    assertFleetHistory(one)
  })

  test('PH-10 alone, a host takes it back after as long again, and goes on if the observer does', async () => {
    const one = newFleet({ maxBatchMs: 5_000, abortGraceMs: 1_000 })
    let hangs = 2
    one.behaviour = async () => {
      hangs -= 1
      if (hangs >= 0) await new Promise<never>(() => {})
    }
    write(one, 3)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'unownedRanges').length > 0)
    await one.until(() => one.isDrained(), 60_000)
    expect(one.eventsOf(a, 'observerStuck')).toHaveLength(2)
    expect(a.host.health().status).toBe('running')
  })

  test('PH-10 calls that ignore their abort do not use up the places of the host', async () => {
    const one = newFleet({ maxBatchMs: 1_000, abortGraceMs: 100, maxConcurrentObservers: 1 })
    let hangs = 3
    one.behaviour = async () => {
      hangs -= 1
      if (hangs >= 0) await new Promise<never>(() => {})
    }
    write(one, 3)
    const a = await one.start('a')
    await one.until(() => one.isDrained(), 60_000)
    expect(one.eventsOf(a, 'observerStuck')).toHaveLength(3)
  })
})
