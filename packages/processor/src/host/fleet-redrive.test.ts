import { afterEach, describe, expect, test } from 'vitest'
import { Fleet, assertFleetHistory, type FleetOptions } from '@tidemark/testing'
import type { HostOptions } from './host-options.ts'
import { LetterBox, POISON, accepted, failsOn, write } from './letter-box.fixture.ts'

let fleet: Fleet | undefined
let box: LetterBox

afterEach(async () => {
  const ended = fleet
  fleet = undefined
  await ended?.end()
})

function newFleet(hostOptions: HostOptions, options: FleetOptions = {}): Fleet {
  box = new LetterBox()
  fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 8 },
    deadLetters: box,
    hostOptions: {
      failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
      retryDelayMs: 50,
      retryMaxDelayMs: 400,
      redrivePollMs: 1_000,
      ...hostOptions,
    },
    ...options,
  })
  return fleet
}

/** A fleet of one host with one dead letter, sent back. */
async function withLetter(hostOptions: HostOptions = {}): Promise<{ one: Fleet; poison: string }> {
  const one = newFleet(hostOptions)
  write(one, 8)
  const poison = one.feed.changes[3]!.id
  one.behaviour = failsOn(poison)
  await one.start('a')
  await one.until(() => box.letters.size === 1)
  for (const id of box.letters.keys()) box.sentBack.add(id)
  return { one, poison }
}

/** How often the letter's change was handed over since it was sent back. */
function redeliveries({ deliveries }: Fleet, poison: string): number {
  return deliveries.filter(({ changes }) => changes.length === 1 && changes[0]?.id === poison)
    .length
}

describe('a letter that is sent back', () => {
  test('PH-7 is handed over once, however long it takes', async () => {
    const { one, poison } = await withLetter()
    const before = redeliveries(one, poison)
    one.behaviour = ({ redriven, signal }) =>
      redriven ? one.clock.sleep(20_000, signal) : undefined
    await one.until(() => box.letters.size === 0)
    await one.advance(30_000)
    expect(redeliveries(one, poison)).toBe(before + 1)
  })

  test.each(['retryForever', 'haltRange', 'deadLetter'] as const)(
    'PH-7 under %s: and fails again, is put back after its tries, and the range goes on',
    async (mode) => {
      const { one, poison } = await withLetter()
      const [a] = one.hosts
      await one.stop(a!)
      one.behaviour = failsOn(poison)
      const b = await one.start('b', { hostOptions: { failurePolicy: { mode, maxAttempts: 2 } } })
      await one.until(() => box.sentBack.size === 0)
      write(one, 8)
      await one.until(() => accepted(one).length === 15)
      expect(
        one.deliveries.filter(({ host, outcome }) => host === 'b' && outcome === 'failed'),
      ).toHaveLength(2)
      expect(one.eventsOf(b, 'rangeHalted')).toEqual([])
      expect(box.changes).toEqual([poison])
    },
  )

  test('PH-7 and fails again, does not keep a range whose letters are suspended', async () => {
    const { one, poison } = await withLetter({
      failurePolicy: { mode: 'deadLetter', maxAttempts: 1, maxConsecutiveDeadLetters: 1 },
    })
    let isDown = true
    one.behaviour = (_context, changes) => {
      if (isDown || changes.some(({ id }) => id === poison)) throw POISON
    }
    write(one, 8)
    await one.advance(10_000)
    isDown = false
    await one.until(() => accepted(one).length >= 14)
    for (const id of box.letters.keys()) box.sentBack.add(id)
    await one.until(() => box.sentBack.size === 0)
    write(one, 8)
    await one.until(() => accepted(one).length === 23)
    expect(box.changes).toEqual([poison])
  })

  test('PH-7 moves no position, whatever the observer stores', async () => {
    const { one } = await withLetter({ checkpointFrequency: 'manual' })
    let redriven = 0
    one.behaviour = async (context) => {
      if (!context.redriven) return
      await context.checkpoint()
      redriven += 1
    }
    await one.until(() => redriven > 0)
    const group = await one.leases.openGroup('group')
    expect((await group.read()).leases[0]?.checkpoint.lsn).toBe(0)
  })

  test.each([1, 4])(
    'PH-7 of several of one key the oldest comes first, with %i keys at once',
    async (maxConcurrentKeys) => {
      const one = newFleet({ maxConcurrentKeys })
      write(one, 8)
      for (const key of ['key3', 'key5', 'key3']) one.feed.append(key)
      const ids = (wanted: string): readonly string[] =>
        one.feed.changes.filter(({ partitionKey }) => partitionKey === wanted).map(({ id }) => id)
      const poisons = [...ids('key3'), ...ids('key5')]
      expect(poisons).toHaveLength(5)
      one.behaviour = failsOn(...poisons)
      await one.start('a')
      await one.until(() => box.letters.size === 5)
      one.behaviour = () => {}
      for (const id of box.letters.keys()) box.sentBack.add(id)
      const before = one.deliveries.length
      await one.until(() => box.letters.size === 0)
      const delivered = one.deliveries
        .slice(before)
        .flatMap(({ changes }) => changes.map(({ id }) => id))
      for (const key of ['key3', 'key5']) {
        expect(delivered.filter((id) => ids(key).includes(id))).toEqual(ids(key))
      }
    },
  )

  test('PH-8 waits for its own key alone: one that hangs holds nobody', async () => {
    const { one, poison } = await withLetter({ maxConcurrentKeys: 4 })
    one.behaviour = (_context, changes) => {
      const isHung = changes.some(
        (change) => change.kind === 'document' && change.document.key === 'key0',
      )
      return isHung ? new Promise<never>(() => {}) : undefined
    }
    // Behind it, so that the letter finds it in a lane.
    one.feed.append('key0')
    await one.until(() => box.letters.size === 0)
    write(one, 8)
    const tookMs = await one.until(() => accepted(one).length >= 8 + 7)
    expect(tookMs).toBeLessThan(1_000)
    expect(accepted(one)).toContain(poison)
  })

  test('PH-8 comes behind what is in the lane of its key, and before what comes later', async () => {
    const { one, poison } = await withLetter({ maxConcurrentKeys: 4 })
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    let running = 0
    one.behaviour = async (_context, changes) => {
      if (!changes.some((change) => change.kind === 'document' && change.document.key === 'key3'))
        return
      running += 1
      expect(running).toBe(1)
      await gate
      running -= 1
    }
    one.feed.append('key3')
    await one.advance(3_000)
    one.feed.append('key3')
    await one.advance(1_000)
    expect(box.letters.size).toBe(1)
    open()
    await one.until(() => box.letters.size === 0)
    await one.until(() => one.isDrained())
    const ofKey = one.deliveries.filter(({ changes }) =>
      changes.some(({ partitionKey }) => partitionKey === 'key3'),
    )
    expect(ofKey.slice(-3).map(({ changes }) => changes.map(({ id }) => id))).toEqual([
      ['key3-2'],
      [poison],
      ['key3-3'],
    ])
  })
})

describe('a place of letters that hangs', () => {
  test.each(['put', 'takeRedriven', 'settle'] as const)(
    'PH-7 PH-10 in %s does not keep a host that leaves',
    async (operation) => {
      const one = newFleet({})
      write(one, 8)
      const poison = one.feed.changes[3]!.id
      one.behaviour = failsOn(poison)
      const a = await one.start('a')
      if (operation !== 'put') await one.until(() => box.letters.size === 1)
      let isHung = false
      box.before = (now) => {
        if (now !== operation) return
        isHung = true
        return new Promise<never>(() => {})
      }
      one.behaviour = (context, changes) =>
        context.redriven ? undefined : failsOn(poison)(context, changes)
      for (const id of box.letters.keys()) box.sentBack.add(id)
      await one.until(() => isHung)
      const beganMs = one.clock.monotonicMs()
      await one.stop(a)
      expect(one.clock.monotonicMs() - beganMs).toBeLessThan(1_000)
      box.before = () => {}
      await one.start('b')
      await one.until(() => (operation === 'put' ? box.letters.size === 1 : box.letters.size === 0))
      assertFleetHistory(one, { bisects: true, lanes: true })
    },
  )
})
