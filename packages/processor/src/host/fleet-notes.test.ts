import {
  feedRangeId,
  type Clock,
  type HostSummary,
  type LeaseGroup,
  type LeaseStore,
  type LeaseTransition,
} from '@tidemark/contracts'
import { Fleet } from '@tidemark/testing'
import { afterEach, expect, test } from 'vitest'
import { ProcessorGroup } from '../administration/processor-group.ts'
import { leaseStoreOn } from '../lease-stores/memory-lease-store.ts'

let fleet: Fleet | undefined
let group: ProcessorGroup | undefined

afterEach(async () => {
  await group?.close()
  await fleet?.end()
})

function newFleet(ranges: number): { readonly fleet: Fleet; readonly group: ProcessorGroup } {
  fleet = new Fleet({ ranges, feedOptions: { startFromBeginning: true, maxItemCount: 10 } })
  const { leases, feed, clock } = fleet
  group = new ProcessorGroup({ leases, group: 'group', feed, clock })
  return { fleet, group }
}

async function summaryOf(of: ProcessorGroup, host: string): Promise<HostSummary | undefined> {
  return (await of.status()).hosts.find((one) => one.host === host)?.summary
}

function told(transitions: readonly LeaseTransition[]): readonly string[] {
  return transitions.map(({ host, kind, reason }) => [host, kind, reason].filter(Boolean).join(' '))
}

test('PH-10 the group tells who got a lease, gave it back or lost it, also after its hosts are gone', async () => {
  const { fleet, group } = newFleet(2)
  const a = await fleet.start('a')
  await fleet.until(() => a.host.health().leases.length === 2)
  const b = await fleet.start('b')
  await fleet.until(() => b.host.health().leases.length === 1)
  await fleet.advance(5_000)
  await b.host.unregisterObservers()
  await fleet.until(() => a.host.health().leases.length === 2)
  await fleet.advance(5_000)
  const transitions = await group.transitions()
  expect(told(transitions)).toEqual([
    'a acquired',
    'a acquired',
    'a released leaseHandedOver',
    'b acquired',
    'b released shutdown',
    'a acquired',
  ])
  const times = transitions.map(({ atMs }) => atMs)
  expect(times).toEqual(times.toSorted((x, y) => x - y))
  expect(transitions.at(-1)?.epoch).toBeGreaterThan(transitions.at(-2)?.epoch ?? Infinity)
})

test('LE-10 a split names the leases that replaced the old one, and who has them', async () => {
  const { fleet, group } = newFleet(1)
  const a = await fleet.start('a')
  await fleet.until(() => a.host.health().leases.length === 1)
  fleet.feed.split(fleet.feed.ranges[0]!)
  for (let n = 0; n < 20; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.until(() => a.host.health().leases.length === 2)
  await fleet.advance(5_000)
  const transitions = await group.transitions()
  expect(told(transitions)).toEqual(['a acquired', 'a split', 'a acquired', 'a acquired'])
  const names = fleet.feed.ranges.map((range) => feedRangeId(range))
  expect(transitions[1]?.next?.toSorted()).toEqual(names.toSorted())
})

test('PH-10 a host sums up its work with each heartbeat: at most 1 KB, its last error cut and without secrets', async () => {
  const { fleet, group } = newFleet(8)
  const a = await fleet.start('a')
  await fleet.until(() => a.host.health().leases.length === 8)
  for (let n = 0; n < 100; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.until(() => fleet.isDrained())
  await fleet.advance(3_000)
  const good = await summaryOf(group, 'a')
  expect(good).toMatchObject({ changes: 100, errors: 0, deadLetters: 0, halted: [] })
  expect(good?.lastError).toBeUndefined()
  expect(good?.batches).toBeGreaterThanOrEqual(10)
  expect(good?.batchMs?.p99).toBeGreaterThanOrEqual(good?.batchMs?.p50 ?? Infinity)
  fleet.behaviour = () => {
    throw new Error(`postgres://me:secret@db failed\n${'漢'.repeat(1_000)}`)
  }
  for (let n = 0; n < 100; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.advance(120_000)
  const bad = await summaryOf(group, 'a')
  expect(bad?.errors).toBeGreaterThan(8)
  expect(bad?.lastError?.message).toMatch(/^postgres:.*db failed 漢+$/)
  expect(bad?.lastError?.message).not.toContain('secret')
  expect(bad?.lastError?.message).toHaveLength(200)
  expect(new TextEncoder().encode(JSON.stringify(bad)).length).toBeLessThanOrEqual(1_024)
  // Nothing was accepted for a minute.
  expect(bad).toMatchObject({ changes: 100, changesPerS: 0 })
  expect(bad?.batchMs).toBeUndefined()
})

/** Counts heartbeats and notes; a note takes a while. */
class SlowNotes implements LeaseStore {
  readonly description = 'leases with slow notes'
  readonly endsWithProcess = true
  readonly calls = { syncs: 0, notes: 0 }
  readonly #inner: LeaseStore
  readonly #clock: Clock

  constructor(inner: LeaseStore, clock: Clock) {
    this.#inner = inner
    this.#clock = clock
  }

  listGroups(): Promise<readonly string[]> {
    return this.#inner.listGroups()
  }

  async openGroup(name: string): Promise<LeaseGroup> {
    const inner = await this.#inner.openGroup(name)
    const sync = inner.sync.bind(inner)
    const note = inner.note?.bind(inner)
    inner.sync = (...args) => {
      this.calls.syncs += 1
      return sync(...args)
    }
    inner.note = async (...args) => {
      this.calls.notes += 1
      await this.#clock.sleep(200, new AbortController().signal)
      await note?.(...args)
    }
    return inner
  }
}

test('LE-13 PH-10 a busy host tells with its heartbeats only, and is stopping until its last note is told', async () => {
  let slow: SlowNotes | undefined
  fleet = new Fleet({
    ranges: 2,
    feedOptions: { startFromBeginning: true, maxItemCount: 1 },
    leases: (clock, memory) => (slow = new SlowNotes(leaseStoreOn(memory, { clock }), clock)),
  })
  const { leases, feed, clock } = fleet
  group = new ProcessorGroup({ leases, group: 'group', feed, clock })
  const a = await fleet.start('a')
  for (let n = 0; n < 60; n += 1) {
    feed.append(`key-${n}`)
    await fleet.advance(500)
  }
  expect(slow?.calls.notes).toBeGreaterThan(5)
  expect(slow?.calls.notes).toBeLessThanOrEqual(slow?.calls.syncs ?? 0)
  const statuses = new Set<string>()
  let isOver = false
  const stopped = a.host.unregisterObservers().then(() => (isOver = true))
  while (!isOver) {
    statuses.add(a.host.health().status)
    await fleet.advance(50)
  }
  await stopped
  expect([...statuses]).toEqual(['stopping'])
  expect(told(await group.transitions()).filter((text) => text.includes('shutdown'))).toHaveLength(
    2,
  )
})
