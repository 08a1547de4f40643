import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  effectivePartitionKey,
  feedRangeId,
  FULL_RANGE,
  partitionKeyDefinition,
  rangeContainsEpk,
  REPLACE_LIMIT,
  type FeedRange,
  type LeaseGroup,
  type StartPosition,
} from '@tidemark/contracts'
import { FakeFeed, SimulatedClock } from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import type { PositionsSnapshot } from './positions-snapshot.ts'
import { ProcessorGroup } from './processor-group.ts'
import { watchingOverride } from './watching-override.fixture.ts'

const KEYS = Array.from({ length: 24 }, (_, index) => `key${index}`)
const DEFINITION = partitionKeyDefinition('/key')
const BEGINNING: StartPosition = 'beginning'

interface World {
  readonly feed: FakeFeed
  readonly leases: MemoryLeaseStore
  readonly opened: LeaseGroup
  readonly group: ProcessorGroup
}

async function world({ ranges = 3, start = BEGINNING } = {}): Promise<World> {
  const clock = new SimulatedClock()
  const feed = new FakeFeed({ clock, ranges })
  const leases = new MemoryLeaseStore({ clock })
  const opened = await leases.openGroup('group')
  if (!(typeof start === 'object' && 'continuation' in start)) {
    const made = feed.ranges.map(async (range) => ({
      range,
      checkpoint: await feed.resolveStart({ range, start }),
    }))
    await opened.create(await Promise.all(made))
  }
  return {
    feed,
    leases,
    opened,
    group: new ProcessorGroup({ leases, group: 'group', feed, clock }),
  }
}

function write({ feed }: World, rounds = 1): void {
  for (let round = 0; round < rounds; round += 1) for (const key of KEYS) feed.append(key)
}

/** Of each key the first change that the group has not read, by what its leases say. */
async function nextOfEachKey({ feed, opened }: World): Promise<Map<string, number | undefined>> {
  const { leases } = await opened.read()
  const next = new Map<string, number | undefined>()
  for (const key of KEYS) {
    const epk = effectivePartitionKey([key], DEFINITION)
    const lease = leases.filter(({ range }) => rangeContainsEpk(range, epk))
    expect(lease).toHaveLength(1)
    const range = narrowed(feed.ranges, epk, lease[0]!.range)
    const { continuation } = lease[0]!.checkpoint
    const page = await feed.readPage({ range, continuation, maxItemCount: 10_000 })
    const first = page.changes.find(
      (change) => change.kind === 'document' && change.document.key === key,
    )
    next.set(key, first?.kind === 'document' ? first.document.n : undefined)
  }
  return next
}

/** Where a reader of the lease reads this key. */
function narrowed(present: readonly FeedRange[], epk: string, lease: FeedRange): FeedRange {
  const owner = present.find((range) => rangeContainsEpk(range, epk))!
  const { minInclusive, maxExclusive } = owner
  return {
    minInclusive: minInclusive > lease.minInclusive ? minInclusive : lease.minInclusive,
    maxExclusive: maxExclusive < lease.maxExclusive ? maxExclusive : lease.maxExclusive,
  }
}

/** Through a file. */
function kept(snapshot: PositionsSnapshot): PositionsSnapshot {
  return JSON.parse(JSON.stringify(snapshot)) as PositionsSnapshot
}

async function hasOneLeasePerKey({ opened }: World): Promise<void> {
  const { leases } = await opened.read()
  const sorted = leases
    .map(({ range }) => range)
    .sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1))
  let covered = ''
  for (const { minInclusive, maxExclusive } of sorted) {
    expect(minInclusive).toBe(covered)
    covered = maxExclusive
  }
  expect(covered).toBe('FF')
}

describe('restore', () => {
  const byte = fc
    .integer({ min: 1, max: 0x3e })
    .map((n) => n.toString(16).toUpperCase().padStart(2, '0'))
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('split' as const), at: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('merge' as const), at: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('seek' as const),
        to: fc.constantFrom('beginning' as const, 'now' as const),
        from: byte,
        until: byte,
      }),
    },
  )
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

  async function take(target: World, one: Step): Promise<void> {
    const { feed, group } = target
    switch (one.kind) {
      case 'write':
        return write(target)
      case 'split':
        feed.split(feed.ranges[one.at % feed.ranges.length]!)
        return
      case 'merge':
        feed.merge(feed.ranges[one.at % feed.ranges.length]!)
        return
      case 'seek': {
        const [minInclusive, maxExclusive] = [one.from, one.until].sort() as [string, string]
        if (minInclusive === maxExclusive) return
        await group.seek({ to: one.to, ranges: [{ minInclusive, maxExclusive }] })
      }
    }
  }

  test('LE-10 however ranges and leases were cut and joined since, each key goes on exactly where it stood', async () => {
    const steps = fc.array(step, { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(steps, steps, async (before, after) => {
        const target = await world()
        write(target)
        for (const one of before) await take(target, one)
        const expected = await nextOfEachKey(target)
        const snapshot = kept(await target.group.snapshot())
        const written = target.feed.changes.length
        for (const one of after) await take(target, one)
        const preview = await target.group.previewRestore(snapshot)
        const moved = await target.group.restore(snapshot)
        expect(moved.map(({ leaseId, toLsn }) => [leaseId, toLsn])).toEqual(
          preview.map(({ leaseId, toLsn }) => [leaseId, toLsn]),
        )
        await hasOneLeasePerKey(target)
        const rounds = written / KEYS.length
        const isNewer = target.feed.changes.length > written
        for (const [key, n] of await nextOfEachKey(target)) {
          const stood = expected.get(key) ?? (isNewer ? rounds + 1 : undefined)
          expect([key, n]).toEqual([key, stood])
        }
        // Again, it changes nothing.
        const { leases } = await target.opened.read()
        await target.group.restore(snapshot)
        const again = (await target.opened.read()).leases
        expect(again.map(({ id, checkpoint }) => [id, checkpoint])).toEqual(
          leases.map(({ id, checkpoint }) => [id, checkpoint]),
        )
      }),
      { numRuns: 60 },
    )
  })

  test('a snapshot of many ranges on one lease: in steps of as many leases as the store takes, each key right in the end', async () => {
    const many = await world({ ranges: 200 })
    write(many)
    await many.group.seek({ to: 'now', ranges: [{ minInclusive: '', maxExclusive: '15' }] })
    const expected = await nextOfEachKey(many)
    const snapshot = await many.group.snapshot()
    expect(snapshot.positions.length).toBeGreaterThanOrEqual(200)
    // All of it is one range now, with one lease.
    while (many.feed.ranges.length > 1) many.feed.merge(many.feed.ranges[0]!)
    await many.opened.discard('token')
    const checkpoint = await many.feed.resolveStart({ range: FULL_RANGE, start: BEGINNING })
    await many.opened.create([{ range: FULL_RANGE, checkpoint }])
    const sizes: number[] = []
    const leases = watchingOverride(many.leases, ({ old, next }) => {
      sizes.push(old.length + next.length)
    })
    const group = new ProcessorGroup({ leases, group: 'group', feed: many.feed })
    const moved = await group.restore(snapshot)
    expect(moved).toHaveLength(snapshot.positions.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(REPLACE_LIMIT)
    expect(sizes.length).toBeLessThan(8)
    await hasOneLeasePerKey(many)
    expect(await nextOfEachKey(many)).toEqual(expected)
  })

  test('many leases are moved in few steps', async () => {
    const many = await world({ ranges: 200 })
    write(many)
    const before = await many.opened.read()
    await many.group.seek({ to: 'now' })
    const after = await many.opened.read()
    // One membership version a step, and two for the pause.
    expect(after.membershipVersion - before.membershipVersion).toBe(Math.ceil(200 / 32) + 2)
    expect(after.leases.every(({ checkpoint }) => checkpoint.attempts === undefined)).toBe(true)
  })

  test('a group that has no leases gets those of a snapshot that covers every key; another one is refused', async () => {
    const source = await world()
    write(source)
    await source.group.seek({ to: 'now', ranges: [{ minInclusive: '10', maxExclusive: '20' }] })
    const expected = await nextOfEachKey(source)
    const snapshot = kept(await source.group.snapshot())
    source.feed.split(source.feed.ranges[0]!)
    const copy = new ProcessorGroup({ leases: source.leases, group: 'copy', feed: source.feed })
    const holes = { ...snapshot, positions: snapshot.positions.slice(1) }
    await expect(copy.restore(holes)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    expect(await source.leases.listGroups()).toEqual(['group'])
    expect(await copy.previewRestore(snapshot)).toHaveLength(6)
    const moved = await copy.restore(snapshot)
    expect(moved.every(({ fromLsn }) => fromLsn === undefined)).toBe(true)
    const opened = await source.leases.openGroup('copy')
    expect(await nextOfEachKey({ ...source, opened, group: copy })).toEqual(expected)
    const told = await source.feed.positions.read('copy')
    expect(told.map(({ range }) => feedRangeId(range))).toEqual(moved.map(({ leaseId }) => leaseId))
  })

  test('keys that the snapshot does not have stay where they are', async () => {
    const target = await world({ ranges: 2 })
    write(target)
    const snapshot = await target.group.snapshot()
    await target.group.seek({ to: 'now' })
    const half = { ...snapshot, positions: snapshot.positions.slice(0, 1) }
    const moved = await target.group.restore(half)
    expect(moved.map(({ leaseId }) => leaseId)).toEqual([half.positions[0]?.range])
    const lsns = (await target.group.status()).leases.map(({ lsn }) => lsn > 0)
    expect(lsns).toEqual([false, true])
  })

  test('a snapshot that is none, of another feed, or with overlapping ranges is refused, and nothing is changed', async () => {
    const target = await world()
    write(target)
    const good = await target.group.snapshot()
    const other = await new ProcessorGroup({
      leases: (await world()).leases,
      group: 'group',
    }).snapshot()
    const foreign = new FakeFeed({ clock: new SimulatedClock(), identity: 'foreign', ranges: 3 })
    const elsewhere = await Promise.all(
      foreign.ranges.map(async (range) => ({
        range: feedRangeId(range),
        ...(await foreign.resolveStart({ range, start: BEGINNING })),
      })),
    )
    const [first] = good.positions
    const wrong: readonly (readonly [unknown, string])[] = [
      [undefined, 'ERR_INVALID_OPTION'],
      [{ ...good, format: 'tidemark-positions-9' }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [] }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [first, first] }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [{ ...first, range: 'x' }] }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [{ ...first, lsn: -1 }] }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [{ ...first, continuation: '' }] }, 'ERR_INVALID_OPTION'],
      [{ ...good, positions: [{ ...first, continuation: 'x' }] }, 'ERR_INVALID_CONTINUATION'],
      [{ ...good, positions: elsewhere }, 'ERR_INVALID_CONTINUATION'],
    ]
    const before = await target.opened.read()
    for (const [snapshot, code] of wrong) {
      await expect(target.group.restore(snapshot as PositionsSnapshot)).rejects.toMatchObject({
        code,
      })
    }
    expect(await target.opened.read()).toEqual(before)
    expect(other.feed).toBeUndefined()
    expect(good.feed).toBe('fake-feed')
  })

  test('LE-10 leases of a feed whose children do not carry their parents’ changes are not cut at a split', async () => {
    const clock = new SimulatedClock()
    const feed = new FakeFeed({ clock, ranges: 1, childrenCarryParentChanges: false })
    const leases = new MemoryLeaseStore({ clock })
    const opened = await leases.openGroup('group')
    const checkpoint = await feed.resolveStart({ range: FULL_RANGE, start: BEGINNING })
    await opened.create([{ range: FULL_RANGE, checkpoint }])
    const group = new ProcessorGroup({ leases, group: 'group', feed, clock })
    await group.seek({ to: 'now' })
    feed.split(FULL_RANGE)
    await expect(group.seek({ to: 'now' })).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    expect((await opened.read()).leases).toHaveLength(1)
  })
})
