import { afterEach, describe, expect, test } from 'vitest'
import type { Checkpoint } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FleetHost, type FleetOptions } from '@tidemark/testing'
import type { HostOptions } from './host-options.ts'
import { LetterBox, POISON, accepted, failsOn, write } from './letter-box.fixture.ts'

const never = new AbortController().signal

let fleet: Fleet | undefined
let box: LetterBox
let hasLanes = false

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  await ended.end()
  assertFleetHistory(ended, { bisects: true, lanes: hasLanes })
})

function newFleet(hostOptions: HostOptions, options: FleetOptions = {}): Fleet {
  box = new LetterBox()
  hasLanes = (hostOptions.maxConcurrentKeys ?? 1) > 1
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 8 },
    deadLetters: box,
    hostOptions: {
      failurePolicy: { mode: 'deadLetter', maxAttempts: 3 },
      retryDelayMs: 50,
      retryMaxDelayMs: 400,
      ...hostOptions,
    },
    ...options,
  })
  return fleet
}

async function stored(one: Fleet): Promise<readonly Checkpoint[]> {
  const group = await one.leases.openGroup('group')
  return (await group.read()).leases.map(({ checkpoint }) => checkpoint)
}

/** Kills each host that is handed one of the changes; returns how often that happened. */
function kills(one: Fleet, ...ids: readonly string[]): { readonly count: number } {
  const deaths = { count: 0 }
  one.behaviour = async (_context, changes) => {
    if (!changes.some(({ id }) => ids.includes(id))) return
    deaths.count += 1
    one.kill(one.hosts.at(-1)!)
    await new Promise<never>(() => {})
  }
  return deaths
}

/** Starts one host after the other until `condition`; each lives until it is killed. */
async function successors(one: Fleet, condition: () => boolean, limit = 30): Promise<FleetHost> {
  for (let n = 0; ; n += 1) {
    expect(n, 'hosts that died').toBeLessThan(limit)
    const host = await one.start(`host${n}`)
    await one.clock.advanceUntil(() => host.gate.isFrozen || condition(), { limitMs: 120_000 })
    if (condition()) return host
  }
}

/** Hosts die until a change alone was tried as often as it may be: next comes its letter. */
async function diesOut(one: Fleet, deaths: { readonly count: number }): Promise<void> {
  for (let n = 0; n < 30; n += 1) {
    const [checkpoint] = await stored(one)
    const { count = 0, size = 0 } = checkpoint?.attempts ?? {}
    if (count >= 3 && size === 1) break
    const host = await one.start(`dying${n}`)
    await one.clock.advanceUntil(() => host.gate.isFrozen, { limitMs: 120_000 })
    expect(host.gate.isFrozen).toBe(true)
  }
  expect(deaths.count).toBeGreaterThanOrEqual(3)
  expect(box.letters.size).toBe(0)
}

describe('tries of those who had the lease before', () => {
  test('PH-7 a change that kills each process, alone in its page, is set aside after its deaths', async () => {
    const one = newFleet({})
    write(one, 1)
    const [poison] = one.feed.changes
    const deaths = kills(one, poison!.id)
    await successors(one, () => box.letters.size > 0)
    expect(deaths.count).toBe(3)
    const [letter] = box.letters.values()
    expect(letter).toMatchObject({ attempts: 3, error: { name: 'ProcessEndedError' } })
    write(one, 3)
    await one.until(() => accepted(one).length === 3)
  })

  test.each([1, 5, 8])(
    'PH-7 a change that was written again is another one: place %i of its page',
    async (place) => {
      const one = newFleet({})
      write(one, 8)
      const poison = one.feed.changes[place - 1]!.id
      await diesOut(one, kills(one, poison))
      one.feed.overwrite(poison)
      write(one, 8)
      one.behaviour = () => {}
      await one.start('z')
      await one.until(() => one.isDrained())
      expect(box.changes).toEqual([])
    },
  )

  test('PH-7 the next owner finds the change that they speak of, and sets that one aside', async () => {
    const one = newFleet({})
    write(one, 8)
    const poison = one.feed.changes[4]!.id
    await diesOut(one, kills(one, poison))
    write(one, 8)
    await one.start('z')
    await one.until(() => one.isDrained() || accepted(one).length === 15)
    expect(box.changes).toEqual([poison])
    expect(one.hosts.at(-1)!.gate.isFrozen).toBe(false)
  })

  test('PH-7 LE-10 of a range that was split meanwhile they count for the part that has the change', async () => {
    const one = newFleet({})
    write(one, 8)
    const poison = one.feed.changes[4]!.id
    await diesOut(one, kills(one, poison))
    one.feed.split(one.feed.ranges[0]!)
    for (const range of one.feed.ranges) one.feed.split(range)
    expect(one.feed.ranges).toHaveLength(4)
    await one.start('z')
    await one.until(() => accepted(one).length === 7)
    await one.until(() => box.letters.size === 1)
    expect(box.changes).toEqual([poison])
  })

  test.each([
    { where: 'in the middle of a transaction', options: {}, hostOptions: {} },
    { where: 'where the feed makes no positions of LSNs', options: { measuring: false } },
    { where: 'with manual checkpoints', hostOptions: { checkpointFrequency: 'manual' as const } },
  ])('PH-7 a change that kills each process is found $where', async (how) => {
    const one = newFleet(how.hostOptions ?? {}, how.options ?? {})
    write(one, 4)
    one.feed.append('k', 12)
    write(one, 4)
    const poison = one.feed.changes[9]!.id
    const deaths = kills(one, poison)
    await successors(one, () => accepted(one).length === 19 && box.letters.size === 1)
    expect(box.changes).toEqual([poison])
    // The page three times, parts of it once each, the change alone three times.
    expect(deaths.count).toBeLessThanOrEqual(3 + 4 + 3)
  })

  test.each([1, 3])(
    'PH-7 one that kills each process makes no dead letters of changes of other ranges that die with it, at most %i tries',
    async (maxAttempts) => {
      const one = newFleet({ failurePolicy: { mode: 'deadLetter', maxAttempts } }, { ranges: 4 })
      write(one, 64)
      const poison = one.feed.changes[20]!.id
      const deaths = kills(one, poison)
      const deadly = one.behaviour
      one.behaviour = async (context, changes) => {
        // The others are slow, so that they are all in hand when it happens.
        await one.clock.sleep(changes.some(({ id }) => id === poison) ? 50 : 300, never)
        await deadly(context, changes)
      }
      await successors(one, () => accepted(one).length === 63 && box.letters.size > 0, 60)
      expect(box.changes).toEqual([poison])
      expect(deaths.count).toBeLessThan(12)
    },
  )

  test('PH-5 PH-7 what was accepted is not suspected, although its position is stored later', async () => {
    const one = newFleet({ checkpointFrequency: { everyMs: 60_000 } })
    write(one, 1)
    for (let n = 0; n < 6; n += 1) {
      const host = await one.start(`host${n}`)
      await one.advance(10_000)
      one.kill(host)
    }
    expect(box.letters.size).toBe(0)
    expect(one.deliveries).toHaveLength(1)
  })

  test.each(['everyBatch' as const, { everyMs: 100 }])(
    'PH-5 PH-7 a position that is stored later, with %j, takes no tries of what comes behind it',
    async (checkpointFrequency) => {
      const one = newFleet({ checkpointFrequency, retryDelayMs: 1, retryMaxDelayMs: 1 })
      await one.start('a')
      await one.until(() => one.isBalanced())
      one.behaviour = async ({ attempt }, changes) => {
        if (changes[0]!.lsn < 3) return
        if (attempt === 1) throw new Error('no')
        await new Promise<never>(() => {})
      }
      for (let n = 0; n < 3; n += 1) {
        write(one, 1)
        await one.advance(1)
      }
      await one.advance(200)
      expect(await stored(one)).toMatchObject([{ lsn: 2, attempts: { count: 2 } }])
    },
  )

  test('PH-7 two that kill each process, and one that fails, in one page', async () => {
    const one = newFleet({})
    write(one, 24)
    const ids = one.feed.changes.map(({ id }) => id)
    const fails = failsOn(ids[10]!)
    kills(one, ids[9]!, ids[13]!)
    const deadly = one.behaviour
    one.behaviour = async (context, changes) => {
      await fails(context, changes)
      await deadly(context, changes)
    }
    await successors(one, () => accepted(one).length === 21 && box.letters.size === 3)
    expect(new Set(box.changes)).toEqual(new Set([ids[9], ids[10], ids[13]]))
    const names = new Map(
      [...box.letters.values()].map(({ change, error }) => [change.id, error.name]),
    )
    expect(names.get(ids[10]!)).toBe('Error')
  })

  test('PH-7 LE-12 a host that leaves in the middle takes none of them along, also behind what it has done', async () => {
    const one = newFleet({ retryDelayMs: 5_000, retryMaxDelayMs: 5_000 })
    write(one, 12)
    const poison = one.feed.changes[8]!.id
    one.behaviour = failsOn(poison)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'observerError').length === 2)
    await one.stop(a)
    expect(await stored(one)).toMatchObject([{ lsn: 8, attempts: { count: 2, size: 0 } }])
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'observerError').length > 0)
    const tries = one.deliveries.filter(({ host }) => host === 'b')
    expect(tries[0]).toMatchObject({ attempt: 3 })
  })

  test('PH-7 a host that gets a lease and gives it back before it calls anybody has tried nothing', async () => {
    const one = newFleet({ maxConcurrentObservers: 1 }, { ranges: 2 })
    write(one, 40)
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    one.behaviour = () => gate
    const a = await one.start('a')
    await one.until(() => one.deliveries.length === 1)
    await one.advance(500)
    // One has the only place, the other one waits for it.
    const stopping = one.stop(a)
    await one.advance(1_000)
    open()
    await stopping
    expect(one.deliveries).toHaveLength(1)
    const attempts = (await stored(one)).map((checkpoint) => checkpoint.attempts)
    expect(attempts).toEqual([undefined, undefined])
  })

  test('PH-7 a process that dies while changes wait for their turn has not tried them', async () => {
    const one = newFleet({ maxConcurrentObservers: 1 }, { ranges: 2 })
    write(one, 40)
    one.behaviour = () => new Promise<never>(() => {})
    const a = await one.start('a')
    await one.until(() => one.deliveries.length === 1)
    await one.advance(2_000)
    one.kill(a)
    const [delivery] = one.deliveries
    const group = await one.leases.openGroup('group')
    for (const { id, checkpoint } of (await group.read()).leases) {
      expect(checkpoint.attempts?.count).toBe(id === delivery!.leaseId ? 1 : undefined)
    }
  })

  test('PH-7 LE-12 a try that was told of, and not made because its host leaves, is taken back', async () => {
    const one = newFleet({})
    write(one, 8)
    const a = one.create('a')
    let stopping: Promise<unknown> | undefined
    a.store.onCall = (operation, when) => {
      if (operation === 'checkpoint' && when === 'after') stopping ??= a.host.unregisterObservers()
    }
    await one.run(one.register(a))
    await one.until(() => stopping !== undefined)
    await one.run(stopping!)
    expect(one.deliveries).toEqual([])
    expect((await stored(one)).map(({ attempts }) => attempts)).toEqual([undefined])
  })

  test('PH-8 PH-7 pages before the change that they speak of come in order too', async () => {
    const one = newFleet({ maxConcurrentKeys: 4 })
    write(one, 8)
    const poison = one.feed.changes[6]!.id
    await diesOut(one, kills(one, poison))
    one.behaviour = () => one.clock.sleep(50, never)
    // The position is before the page, and pages are smaller now.
    const group = await one.leases.openGroup('group')
    const [lease] = (await group.read()).leases
    const start = 'beginning'
    const from = await one.feed.resolveStart({ range: lease!.range, start })
    const checkpoint = { ...from, attempts: lease!.checkpoint.attempts }
    await one.run(
      group.override({
        old: [{ leaseId: lease!.id, epoch: lease!.epoch }],
        next: [{ range: lease!.range, checkpoint }],
      }),
    )
    const before = one.deliveries.length
    await one.start('z', { feedOptions: { maxItemCount: 2 } })
    await one.until(() => box.letters.size === 1)
    const sizes = one.deliveries.slice(before).map(({ changes }) => changes.length)
    expect(sizes.slice(0, 3)).toEqual([2, 2, 2])
    await one.until(() => one.isDrained() || accepted(one).length === 7)
  })

  test('PH-7 the cause of a letter is not lost with the process that could not put it away', async () => {
    const one = newFleet({})
    write(one, 8)
    const poison = one.feed.changes[3]!.id
    one.behaviour = failsOn(poison)
    box.before = () => {
      throw new Error('no room')
    }
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'deadLetterFailed').length > 2)
    one.kill(a)
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'deadLetterFailed').length > 2)
    await one.stop(b)
    box.before = () => {}
    const c = await one.start('c')
    await one.until(() => accepted(one).length === 7)
    expect([...box.letters.values()].map(({ error }) => error.message)).toEqual([POISON.message])
    expect(
      one.deliveries.filter(({ host, outcome }) => host === c.name && outcome === 'failed'),
    ).toHaveLength(1)
  })

  test('PH-7 TTL-15 a place in the middle of a page is not too late for purges that the page knew of', async () => {
    const one = newFleet({})
    write(one, 8)
    one.feed.passHorizon(one.feed.ranges[0]!)
    const poison = one.feed.changes[5]!.id
    kills(one, poison)
    await successors(one, () => accepted(one).length === 7 && box.letters.size === 1)
    expect(one.hosts.flatMap((host) => one.eventsOf(host, 'horizonPassed'))).toEqual([])
  })
})

describe('a range that halts', () => {
  const haltRange = { failurePolicy: { mode: 'haltRange' as const, maxAttempts: 3 } }

  test('PH-7 a batch that kills each process halts the range instead', async () => {
    const one = newFleet(haltRange)
    write(one, 8)
    const deaths = kills(one, one.feed.changes[5]!.id)
    const halted = (): boolean =>
      one.hosts.some((host) => one.eventsOf(host, 'rangeHalted').length > 0)
    const last = await successors(one, halted)
    expect(deaths.count).toBe(3)
    expect(one.eventsOf(last, 'rangeHalted')).toMatchObject([
      { attempts: 3, error: { name: 'ProcessEndedError' } },
    ])
    // Opened again it is tried once.
    await one.stop(last)
    await successors(one, () => deaths.count === 4)
  })

  test('PH-7 LE-12 handed over it is tried once there, and halts again', async () => {
    const one = newFleet(haltRange)
    write(one, 12)
    one.behaviour = failsOn(one.feed.changes[8]!.id)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'rangeHalted').length === 1)
    await one.stop(a)
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'rangeHalted').length === 1)
    expect(one.deliveries.filter(({ host }) => host === 'b')).toHaveLength(1)
    await one.advance(60_000)
    expect(one.deliveries.filter(({ host }) => host === 'b')).toHaveLength(1)
  })

  test('PH-7 LE-10 split meanwhile, only the part that has the batch is tried once; the others have all their tries', async () => {
    const one = newFleet(haltRange)
    write(one, 8)
    const [poison] = one.feed.changes
    one.behaviour = failsOn(poison!.id)
    const a = await one.start('a')
    await one.until(() => one.eventsOf(a, 'rangeHalted').length === 1)
    one.feed.split(one.feed.ranges[0]!)
    await one.stop(a)
    one.behaviour = () => {
      throw POISON
    }
    const b = await one.start('b')
    await one.until(() => one.eventsOf(b, 'rangeHalted').length === 2)
    const tries = Map.groupBy(
      one.deliveries.filter(({ host }) => host === 'b'),
      ({ leaseId }) => leaseId,
    )
    expect(new Set([...tries.values()].map(({ length }) => length))).toEqual(new Set([1, 3]))
  })
})
