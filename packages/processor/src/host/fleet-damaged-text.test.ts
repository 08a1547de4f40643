import { expect, test } from 'vitest'
import type { Change } from '@tidemark/contracts'
import {
  assertFleetHistory,
  type Fleet,
  type FleetHost,
  type FleetOptions,
} from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'
import type { HostOptions } from './host-options.ts'
import { LetterBox, POISON, accepted, failsOn, write } from './letter-box.fixture.ts'

const box = new LetterBox()
const newFleet = fleetsWith(
  {
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: 4 },
    deadLetters: box,
  },
  (fleet) => assertFleetHistory(fleet, { lanes: true }),
)

const POLICIES: HostOptions = {
  retryDelayMs: 50,
  retryMaxDelayMs: 400,
  failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
}

type Behaviour = NonNullable<FleetOptions['behaviour']>

const looks = (changes: readonly Change[]): void => changes.forEach((change) => ({ ...change }))
const throwsOn: Behaviour = (_context, changes) => looks(changes)
const swallows: Behaviour = (_context, changes) => {
  try {
    looks(changes)
  } catch {
    // As an observer that logs and goes on.
  }
}

/** Ten changes, of which the sixth is damaged; read in pages of four. */
async function withDamage(
  behaviour: Behaviour,
  hostOptions: HostOptions = {},
): Promise<{ fleet: Fleet; host: FleetHost; ids: readonly string[]; mend: () => void }> {
  const fleet = newFleet({ behaviour, hostOptions: { ...POLICIES, ...hostOptions } })
  write(fleet, 10)
  const ids = fleet.feed.changes.map(({ id }) => id)
  const mend = fleet.feed.damage(ids[5]!)
  const host = await fleet.start('a')
  await fleet.until(() => fleet.eventsOf(host, 'feedError').length === 3)
  return { fleet, host, ids, mend }
}

function expectNoTry(fleet: Fleet, host: FleetHost): void {
  const failures = ['observerError', 'batchBisected', 'deadLettered', 'deadLetterFailed'] as const
  for (const name of failures) expect(fleet.eventsOf(host, name)).toEqual([])
  expect(box.puts).toBe(0)
}

async function storedCheckpoint({ leases }: Fleet): Promise<unknown> {
  const group = await leases.openGroup('group')
  return (await group.read()).leases[0]?.checkpoint
}

test.each([
  ['throws what it got', throwsOn],
  ['catches it', swallows],
  [
    'throws something else',
    async (context, changes) => {
      await swallows(context, changes)
      if (changes.some(({ lsn }) => lsn === 6)) throw POISON
    },
  ],
] satisfies [string, Behaviour][])(
  'PH-4 PH-7 a damaged text is an error of the feed, at its position, when the observer %s',
  async (_what, behaviour) => {
    const { fleet, host, ids, mend } = await withDamage(behaviour)
    for (const [index, event] of fleet.eventsOf(host, 'feedError').entries()) {
      expect(event).toMatchObject({ error: { code: 'ERR_STORE_DAMAGED' }, attempt: index + 1 })
    }
    expect(host.host.health().leases[0]?.lastError).toMatchObject({ code: 'ERR_STORE_DAMAGED' })
    expectNoTry(fleet, host)
    // The page was handed over once: from then on the reader looks first.
    expect(fleet.deliveries.map(({ changes }) => changes[0]!.id)).toEqual([ids[0], ids[4]])
    expect(await storedCheckpoint(fleet)).toEqual({ continuation: expect.any(String), lsn: 4 })
    mend()
    fleet.behaviour = throwsOn
    await fleet.until(() => accepted(fleet).length === 10)
    expect(accepted(fleet).toSorted()).toEqual(ids.toSorted())
    expect(fleet.deliveries.slice(2).map(({ changes }) => changes.map(({ id }) => id))).toEqual([
      ids.slice(4, 8),
      ids.slice(8),
    ])
    expectNoTry(fleet, host)
  },
)

test('PH-4 a damaged document that is written again stops nobody any longer', async () => {
  const { fleet, host, ids } = await withDamage(throwsOn)
  expect(fleet.feed.overwrite(ids[5]!)).toBe(true)
  fleet.feed.append('key5')
  await fleet.until(() => accepted(fleet).length === 10)
  expectNoTry(fleet, host)
})

test('PH-7 PH-8 with lanes a damaged text stops the range, and nothing is lost or out of order', async () => {
  const { fleet, host, mend } = await withDamage(throwsOn, { maxConcurrentKeys: 4 })
  expectNoTry(fleet, host)
  expect(await storedCheckpoint(fleet)).toMatchObject({ lsn: 4 })
  mend()
  write(fleet, 20)
  await fleet.until(() => fleet.isDrained())
  expectNoTry(fleet, host)
})

test('PH-7 a change that nobody looked at does not become a dead letter without its document', async () => {
  const { fleet, host, mend } = await withDamage(
    (_context, changes) => {
      if (changes.some(({ lsn }) => lsn === 6)) throw POISON
    },
    { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } },
  )
  expect(fleet.eventsOf(host, 'deadLettered')).toEqual([])
  expect(box.puts).toBe(0)
  mend()
  await fleet.until(() => fleet.eventsOf(host, 'deadLettered').length === 1)
  await fleet.until(() => accepted(fleet).length === 9)
  expect([...box.letters.values()][0]?.change).toMatchObject({ lsn: 6, document: { n: 1 } })
  box.letters.clear()
  box.puts = 0
})

test('PH-5 no checkpoint is stored behind a damaged text that the observer caught', async () => {
  const refused: unknown[] = []
  const { fleet, host, mend } = await withDamage(
    async (context, changes) => {
      await swallows(context, changes)
      await context.checkpoint().catch((error: unknown) => refused.push(error))
    },
    { checkpointFrequency: 'manual' },
  )
  expect(refused).toEqual([expect.objectContaining({ code: 'ERR_STORE_DAMAGED' })])
  await fleet.stop(host)
  expect(await storedCheckpoint(fleet)).toMatchObject({ lsn: 4 })
  mend()
  await fleet.start('b')
  await fleet.until(() => accepted(fleet).length === 10)
})

test.each([
  ['page by page', {}],
  ['in lanes', { maxConcurrentKeys: 4 }],
] satisfies [string, HostOptions][])(
  'PH-4 an observer that asks for a checkpoint before it looks loses nothing that it has in hand: %s',
  async (_what, hostOptions) => {
    const behaviour: Behaviour = async (context, changes) => {
      await context.checkpoint()
      looks(changes)
    }
    const { fleet, host, ids, mend } = await withDamage(behaviour, hostOptions)
    expectNoTry(fleet, host)
    mend()
    await fleet.until(() => accepted(fleet).length === 10)
    expect(accepted(fleet).toSorted()).toEqual(ids.toSorted())
  },
)

test.each([
  ['page by page', {}],
  ['in lanes', { maxConcurrentKeys: 4 }],
] satisfies [string, HostOptions][])(
  'PH-7 hosts that are killed while they wait for a repair leave no tries of a damaged change: %s',
  async (_what, hostOptions) => {
    const { fleet, host, mend } = await withDamage(throwsOn, hostOptions)
    let last = host
    for (let kills = 0; kills < 8; kills += 1) {
      fleet.kill(last)
      const next = await fleet.start(`after ${kills}`)
      await fleet.until(() => fleet.eventsOf(next, 'feedError').length > 1)
      expect(await storedCheckpoint(fleet)).not.toHaveProperty('attempts.count')
      last = next
    }
    expect(box.puts).toBe(0)
    mend()
    await fleet.until(() => accepted(fleet).length === 10)
    expect(box.puts).toBe(0)
  },
)

test('PH-7 PH-8 a damaged change is reported also while another key has halted the range', async () => {
  const behaviour: Behaviour = (_context, changes) => {
    if (changes.some(({ lsn }) => lsn === 1)) throw POISON
    looks(changes)
  }
  const failurePolicy = { mode: 'haltRange', maxAttempts: 2 } as const
  const fleet = newFleet({
    behaviour,
    hostOptions: { ...POLICIES, failurePolicy, maxConcurrentKeys: 4 },
  })
  write(fleet, 10)
  const host = await fleet.start('a')
  await fleet.until(() => fleet.eventsOf(host, 'rangeHalted').length === 1)
  write(fleet, 10)
  fleet.feed.damage(fleet.feed.changes[12]!.id)
  await fleet.until(() => fleet.eventsOf(host, 'feedError').length > 0)
  expect(fleet.eventsOf(host, 'feedError')[0]).toMatchObject({
    error: { code: 'ERR_STORE_DAMAGED' },
  })
})

test('PH-7 with lanes a letter in hand when a text is found damaged is fetched again', async () => {
  const fleet = newFleet({
    feedOptions: { startFromBeginning: true, maxItemCount: 8 },
    hostOptions: {
      failurePolicy: { mode: 'deadLetter', maxAttempts: 4 },
      retryDelayMs: 5_000,
      retryMaxDelayMs: 5_000,
      redrivePollMs: 1_000,
      maxConcurrentKeys: 4,
    },
  })
  write(fleet, 8)
  const poison = fleet.feed.changes[3]!.id
  fleet.behaviour = failsOn(poison)
  const host = await fleet.start('a')
  await fleet.until(() => box.letters.size === 1)
  let tries = 0
  fleet.behaviour = (context, changes) => {
    if (context.redriven) {
      tries += 1
      throw POISON
    }
    changes.forEach((change) => ({ ...change }))
  }
  for (const id of box.letters.keys()) box.sentBack.add(id)
  await fleet.until(() => tries === 1)
  fleet.feed.append('key9')
  const mend = fleet.feed.damage(fleet.feed.changes.at(-1)!.id)
  await fleet.until(() => fleet.eventsOf(host, 'feedError').length > 0)
  mend()
  fleet.behaviour = (_context, changes) => changes.forEach((change) => ({ ...change }))
  await fleet.until(() => box.letters.size === 0)
  await fleet.until(() => accepted(fleet).length === 9)
})
