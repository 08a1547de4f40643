import { afterEach, describe, expect, test } from 'vitest'
import type { DeadLetter } from '@tidemark/contracts'
import { Fleet, assertFleetHistory, type FakeDocument, type FleetOptions } from '@tidemark/testing'
import type { HostOptions } from './host-options.ts'

let fleet: Fleet | undefined

function newFleet(hostOptions: HostOptions, options: FleetOptions = {}): Fleet {
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 100 },
    hostOptions: { maxConcurrentKeys: 16, retryDelayMs: 50, ...hostOptions },
    ...options,
  })
  return fleet
}

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  if (ended === undefined) return
  assertFleetHistory(ended, { lanes: true })
  await ended.end()
  assertFleetHistory(ended, { lanes: true })
})

function write(target: Fleet, count: number, keys: number): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n % keys}`)
}

async function storedLsn(target: Fleet): Promise<number> {
  const group = await target.leases.openGroup('group')
  return (await group.read()).leases[0]?.checkpoint.lsn ?? -1
}

/** Takes 5 ms of simulated time for each document. */
function slow(one: Fleet): NonNullable<FleetOptions['behaviour']> {
  const never = new AbortController().signal
  return async (_context, changes) => {
    for (const { id } of changes) {
      await one.clock.sleep(5, never)
      void id
    }
  }
}

async function timeToDrain(hostOptions: HostOptions): Promise<number> {
  const one = newFleet(hostOptions)
  one.behaviour = slow(one)
  write(one, 1_600, 64)
  await one.start('a')
  const tookMs = await one.until(() => one.isDrained(), 120_000)
  assertFleetHistory(one, { lanes: true })
  await one.end()
  fleet = undefined
  return tookMs
}

describe('lanes', () => {
  test('PH-8 sixteen keys at the same time are at least twelve times as fast as one, in order per key', async () => {
    const oneLaneMs = await timeToDrain({ maxConcurrentKeys: 1 })
    const lanesMs = await timeToDrain({ maxConcurrentKeys: 16 })
    expect(oneLaneMs / lanesMs).toBeGreaterThan(12)
  })

  test('PH-8 never more calls than lanes, never two of one key', async () => {
    const one = newFleet({ maxConcurrentKeys: 4 })
    const running = new Map<string, number>()
    let highest = 0
    const work = slow(one)
    one.behaviour = async (context, changes) => {
      const keys = new Set(changes.map(({ partitionKey }) => JSON.stringify(partitionKey)))
      expect(keys.size).toBe(1)
      const [key] = keys
      expect(running.get(key!) ?? 0).toBe(0)
      running.set(key!, 1)
      highest = Math.max(
        highest,
        [...running.values()].reduce((a, b) => a + b, 0),
      )
      await work(context, changes)
      running.set(key!, 0)
    }
    write(one, 300, 20)
    await one.start('a')
    await one.until(() => one.isDrained())
    expect(highest).toBe(4)
  })

  test('PH-8 PH-4 the position stored is the low watermark: below a key that hangs, whatever the others did', async () => {
    const one = newFleet({ laneWindowChanges: 1_000 })
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const hung = 'key3'
    one.behaviour = async (_context, [first]) => {
      if (first?.kind === 'document' && first.document.key === hung) await gate
    }
    write(one, 500, 10)
    const a = await one.start('a')
    const done = (): number =>
      one.deliveries
        .filter(({ outcome }) => outcome === 'done')
        .reduce((sum, { changes }) => sum + changes.length, 0)
    await one.until(() => done() === 450)
    expect(await storedLsn(one)).toBe(0)
    // New changes of other keys are not held up either.
    write(one, 3, 3)
    const tookMs = await one.until(() => done() === 453, 5_000)
    expect(tookMs).toBeLessThanOrEqual(20)
    await one.advance(1)
    expect(a.host.health().leases[0]?.inFlightMs).toBeGreaterThan(0)
    open()
    await one.until(() => one.isDrained())
    await one.advance(1_000)
    expect(await storedLsn(one)).toBe(503)
  })

  test('PH-8 the window bounds what is read ahead of a key that hangs', async () => {
    const one = newFleet({ laneWindowChanges: 200 })
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    one.behaviour = async (_context, [first]) => {
      if (first?.kind === 'document' && first.document.key === 'key3') await gate
    }
    write(one, 2_000, 10)
    await one.start('a')
    await one.advance(30_000)
    const seen = one.deliveries.reduce((sum, { changes }) => sum + changes.length, 0)
    // A page more than the window at most.
    expect(seen).toBeLessThanOrEqual(300)
    open()
    await one.until(() => one.isDrained())
  })

  test('PH-8 PH-4 cut off from the lease store, lanes go on as far as their window, which is all that comes again', async () => {
    const one = newFleet({ laneWindowChanges: 200, leaseExpirationIntervalMs: 60_000 })
    write(one, 100, 10)
    const first = await one.start('a')
    await one.until(() => one.isDrained())
    await one.advance(5_000)
    expect(await storedLsn(one)).toBe(100)
    first.store.link = 'down'
    write(one, 2_000, 10)
    await one.advance(20_000)
    const seen = one.deliveries.reduce((sum, { changes }) => sum + changes.length, 0)
    expect(seen).toBeGreaterThan(100 + 100)
    // A page more than the window at most.
    expect(seen).toBeLessThanOrEqual(100 + 300)
    first.store.link = 'up'
    await one.until(() => one.isDrained())
  })

  test('PH-8 PH-7 a key that fails again and again holds no lane while it pauses', async () => {
    const one = newFleet({ maxConcurrentKeys: 2, retryDelayMs: 10_000, retryMaxDelayMs: 10_000 })
    const broken = new Set(['key0', 'key1', 'key2'])
    one.behaviour = (_context, [first]) => {
      if (first?.kind === 'document' && broken.has(first.document.key)) throw new Error('no')
    }
    write(one, 100, 10)
    const a = await one.start('a')
    const doneKeys = (): number =>
      one.deliveries
        .filter(({ outcome }) => outcome === 'done')
        .reduce((sum, { changes }) => sum + changes.length, 0)
    const tookMs = await one.until(() => doneKeys() === 70)
    expect(tookMs).toBeLessThan(1_000)
    expect(a.host.health().leases[0]?.lastError).toEqual(new Error('no'))
    broken.clear()
    await one.until(() => one.isDrained())
  })

  test('PH-8 PH-7 a poison document of one key is set aside, the key goes on in order', async () => {
    const letters: DeadLetter<FakeDocument>[] = []
    const one = newFleet(
      { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } },
      { deadLetters: { put: async (letter) => void letters.push(letter) } },
    )
    write(one, 400, 10)
    const poison = one.feed.changes[123]!.id
    one.behaviour = (_context, changes) => {
      if (changes.some(({ id }) => id === poison)) throw new Error('poison')
    }
    await one.start('a')
    await one.until(() => {
      const done = one.deliveries.filter(({ outcome }) => outcome === 'done')
      return done.reduce((sum, { changes }) => sum + changes.length, 0) === 399
    })
    expect(letters.map(({ change }) => change.id)).toEqual([poison])
    await one.advance(1_000)
    expect(await storedLsn(one)).toBe(400)
  })

  test('LE-12 PH-8 a hand-over finishes what is in the lanes, so that nothing is done twice', async () => {
    const one = newFleet({}, { ranges: 4 })
    one.behaviour = slow(one)
    write(one, 2_000, 64)
    const a = await one.start('a')
    await one.advance(100)
    expect(one.deliveries.some(({ outcome }) => outcome === undefined)).toBe(true)
    await one.start('b')
    await one.advance(300)
    write(one, 500, 64)
    await one.until(() => one.isDrained())
    await one.stop(a)
    write(one, 100, 64)
    await one.until(() => one.isDrained())
    expect(one.duplicates().size).toBe(0)
    expect(new Set(one.deliveries.map(({ host }) => host))).toEqual(new Set(['a', 'b']))
  })

  test('PH-8 PH-4 after a crash everything above the watermark comes again, in order per key', async () => {
    const one = newFleet({}, { ranges: 2 })
    one.behaviour = slow(one)
    write(one, 1_000, 50)
    const a = await one.start('a')
    await one.advance(150)
    one.kill(a)
    await one.start('b')
    await one.until(() => one.isDrained())
    expect(one.duplicates().size).toBeGreaterThan(0)
  })

  test('LE-10 PH-8 a split waits for the lanes: children begin behind everything', async () => {
    const one = newFleet({})
    one.behaviour = slow(one)
    write(one, 400, 40)
    await one.start('a')
    await one.advance(50)
    one.feed.split(one.feed.ranges[0]!)
    write(one, 100, 40)
    await one.until(() => one.isDrained())
    expect(one.duplicates().size).toBe(0)
  })

  test('PH-8 PH-7 the first page after a process that died is worked on in order, as a poison document may be in it', async () => {
    const one = newFleet(
      {
        failurePolicy: { mode: 'deadLetter', maxAttempts: 1 },
      },
      { deadLetters: { put: async () => {} } },
    )
    write(one, 400, 20)
    const never = new Promise<never>(() => {})
    one.behaviour = ({ hostName }) => (hostName === 'a' ? never : undefined)
    const a = await one.start('a')
    await one.until(() => one.deliveries.length > 0)
    one.kill(a)
    await one.start('b')
    await one.until(() => one.isDrained())
    const first = one.deliveries.find(({ host }) => host === 'b')!
    expect(new Set(first.changes.map(({ partitionKey }) => partitionKey)).size).toBeGreaterThan(1)
    expect(one.deliveries.at(-1)!.changes.length).toBeLessThan(20)
  })

  test('TTL-15 PH-8 a range begins anew only once nothing is in the lanes', async () => {
    const one = newFleet(
      {},
      {
        feedOptions: { startFromBeginning: true, maxItemCount: 10, onHorizonPassed: 'resync' },
        resynchronize: () => {
          told.push(one.deliveries.filter(({ outcome }) => outcome === undefined).length)
        },
      },
    )
    const told: number[] = []
    one.behaviour = () => one.clock.sleep(500, new AbortController().signal)
    write(one, 40, 40)
    await one.start('a')
    await one.until(() => one.deliveries.length > 0)
    write(one, 40, 40)
    one.feed.passHorizon(one.feed.ranges[0]!)
    await one.until(() => told.length > 0)
    await one.until(() => one.isDrained())
    expect(told).toEqual([0])
  })

  test('PH-8 CF-7 a transaction of a key is never cut', async () => {
    const one = newFleet(
      { maxConcurrentKeys: 2 },
      { feedOptions: { startFromBeginning: true, maxItemCount: 10 } },
    )
    one.behaviour = slow(one)
    for (let n = 0; n < 20; n += 1) {
      one.feed.append('a', 1 + (n % 7))
      one.feed.append('b', 3)
    }
    one.feed.append('a', 25)
    await one.start('a')
    await one.until(() => one.isDrained())
    const batchOf = new Map<string, number>()
    for (const [index, { changes }] of one.deliveries.entries()) {
      for (const { partitionKey, lsn } of changes) {
        const transaction = `${JSON.stringify(partitionKey)} ${lsn}`
        expect(batchOf.get(transaction) ?? index).toBe(index)
        batchOf.set(transaction, index)
      }
    }
    expect(batchOf.size).toBe(41)
  })

  test('PH-5 PH-8 a position that is due by time is stored although the window is full', async () => {
    const one = newFleet({ laneWindowChanges: 100, checkpointFrequency: { everyMs: 2_000 } })
    const done = async (): Promise<number> => {
      await one.advance(10)
      return storedLsn(one)
    }
    write(one, 300, 10)
    one.behaviour = (_context, changes) =>
      changes.some(({ lsn }) => lsn === 150) ? new Promise<never>(() => {}) : undefined
    await one.start('a')
    expect(await done()).toBe(0)
    await one.advance(3_000)
    expect(await done()).toBe(100)
  })

  test('PH-5 PH-8 what keeps the window full, and is done, is stored at once', async () => {
    const one = newFleet({ laneWindowChanges: 4 })
    await one.start('a')
    await one.until(() => one.isBalanced())
    await one.advance(100)
    for (let n = 0; n < 4; n += 1) {
      write(one, 4, 4)
      await one.advance(1)
    }
    expect(one.isDrained()).toBe(true)
  })

  test('PH-7 PH-8 keys that fail at the same time make no letters above the bound', async () => {
    const letters = new Set<string>()
    const put = async ({ id }: DeadLetter<FakeDocument>): Promise<void> => {
      await one.clock.sleep(100, new AbortController().signal)
      letters.add(id)
    }
    const one = newFleet(
      {
        failurePolicy: { mode: 'deadLetter', maxAttempts: 1, maxConsecutiveDeadLetters: 3 },
      },
      { deadLetters: { put } },
    )
    let isDown = true
    one.behaviour = () => {
      if (isDown) throw new Error('the database is down')
    }
    write(one, 32, 16)
    await one.start('a')
    await one.advance(20_000)
    expect(letters.size).toBe(3)
    isDown = false
    await one.advance(40_000)
    expect(await storedLsn(one)).toBe(32)
    expect(letters.size).toBe(3)
  })

  test('PH-8 manual checkpoints and lanes are refused together', () => {
    expect(() =>
      new Fleet({ hostOptions: { maxConcurrentKeys: 2, checkpointFrequency: 'manual' } }).create(
        'a',
      ),
    ).toThrowError(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
  })
})
