import { describe, expect, test } from 'vitest'
import {
  FULL_RANGE,
  feedRangeId,
  lsn,
  parseFeedRangeId,
  type Continuation,
  type DocumentBody,
  type Lease,
  type LeaseStore,
} from '@tidemark/contracts'
import {
  FakeDocumentCollection,
  assertFleetHistory,
  assertNoStaleOwner,
  type Fleet,
  type FleetHost,
  type FleetOptions,
} from '@tidemark/testing'
import { LeaseMirror } from '../bootstrapping/lease-mirror.ts'
import { loseDamagedLeases } from '../bootstrapping/lose-damaged-leases.ts'
import { leaseSetDamage, type LeaseSetDamage } from '../lease-stores/lease-set-damage.ts'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { fleetsWith } from './fleets.fixture.ts'

const TTL_MS = 8_000
const HEARTBEAT_MS = 2_000
/** A beat with a digest, and one heartbeat. */
const NOTICED_MS = 11 * HEARTBEAT_MS
const BATCH = 8

const newFleet = fleetsWith(
  { ranges: 4, feedOptions: { startFromBeginning: true, maxItemCount: BATCH } },
  (fleet) => {
    assertFleetHistory(fleet)
    assertNoStaleOwner(fleet)
  },
)

/** A way to damage the set, and which store it is done to. */
interface Damage {
  readonly name: string
  readonly options: () => FleetOptions
  readonly strike: (fleet: Fleet, leaseId: string) => Promise<unknown>
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'a lease in memory taken away',
    options: () => ({}),
    strike: async ({ memory }, leaseId) => expect(memory.loseLease('group', leaseId)).toBe(true),
  },
  onDocuments('a lease document deleted', (collection, id) => collection.delete(id, 'group')),
  onDocuments('a lease document overwritten in another shape', (collection, id) =>
    collection.replace(documentWith(id, { partitionKey: 'group', kind: 'note', text: 'mine' })),
  ),
  onDocuments('a lease document overwritten with no position', async (collection, id) => {
    const { document } = await collection.read(id, 'group')
    return collection.replace(documentWith(id, { ...document, lsn: -1 }))
  }),
  onDocuments("a lease document overwritten with a neighbour's", async (collection, id) => {
    const { document } = await collection.read(id, 'group')
    const neighbour = [...collection.snapshot().values()].find(
      (other) => 'leaseId' in other && other.id !== id,
    )
    return collection.replace(documentWith(document!.id, { ...neighbour }))
  }),
]

function documentWith(id: string, fields: object): DocumentBody {
  return { ...fields, id }
}

function onDocuments(
  name: string,
  write: (collection: FakeDocumentCollection, id: string) => Promise<unknown>,
): Damage {
  let collection: FakeDocumentCollection | undefined
  return {
    name,
    options: () => ({
      leases: (clock): LeaseStore => {
        collection = new FakeDocumentCollection({ clock })
        return new DocumentLeaseStore(collection, { clock })
      },
    }),
    strike: async (_fleet, leaseId) => {
      const documents = [...(collection?.snapshot().values() ?? [])]
      const found = documents.find((one) => 'leaseId' in one && one['leaseId'] === leaseId)
      await write(collection!, found!.id)
    },
  }
}

function write(target: Fleet, count = 64): void {
  for (let n = 0; n < count; n += 1) target.feed.append(`key${n % 32}`)
}

async function damageOf({ leases }: Fleet): Promise<LeaseSetDamage | undefined> {
  const group = await leases.openGroup('group')
  const snapshot = await group.read()
  return leaseSetDamage(
    snapshot.leases.map(({ range }) => range),
    [FULL_RANGE],
  )
}

/** Two hosts at rest, of which one owns the lease that is struck. */
async function atRest(target: Fleet): Promise<{ readonly hosts: FleetHost[]; leaseId: string }> {
  const hosts = [await target.start('a'), await target.start('b')]
  await target.until(() => target.isBalanced())
  write(target)
  await target.until(() => target.isDrained())
  await target.advance(3_000)
  return { hosts, leaseId: feedRangeId(target.feed.ranges[1]!) }
}

describe.each(DAMAGES)('$name', ({ options, strike }) => {
  test('PH-4 while hosts run and nothing is written: they notice, say so, and go on where they stood', async () => {
    const two = newFleet(options())
    const { hosts, leaseId } = await atRest(two)
    await two.run(strike(two, leaseId))
    expect((await damageOf(two))?.missing.map(feedRangeId)).toEqual([leaseId])
    const alarmed = (): FleetHost[] =>
      hosts.filter((host) => two.eventsOf(host, 'leasesDamaged').length > 0)
    await two.until(() => alarmed().length > 0, NOTICED_MS)
    const [first] = alarmed()
    expect(two.eventsOf(first!, 'leasesDamaged')).toMatchObject([
      { action: 'recover', missing: [parseFeedRangeId(leaseId)] },
    ])
    expect(first!.host.health()).toMatchObject({ status: 'recovering', unownedRanges: [leaseId] })
    const noticedMs = two.clock.monotonicMs()
    await two.until(() => two.isBalanced(), TTL_MS + NOTICED_MS)
    // I14: nobody can work on a lease of before any more.
    expect(two.clock.monotonicMs() - noticedMs).toBeGreaterThanOrEqual(TTL_MS)
    expect(await damageOf(two)).toBeUndefined()
    write(two)
    await two.until(() => two.isDrained())
    expect(two.duplicates().size).toBe(0)
    for (const host of hosts) {
      expect(two.eventsOf(host, 'recovered')).toHaveLength(1)
      expect(host.host.health()).toMatchObject({ status: 'running', unownedRanges: [] })
    }
  })

  test('PH-4 in the middle of batches: its owner notices by the next position, and nothing is lost', async () => {
    const two = newFleet(options())
    const { hosts, leaseId } = await atRest(two)
    await two.run(strike(two, leaseId))
    write(two)
    await two.until(() => hosts.some((host) => two.eventsOf(host, 'leasesDamaged').length > 0), 500)
    await two.until(() => two.isBalanced() && two.isDrained())
    expect(two.duplicates().size).toBeLessThanOrEqual(4 * 2 * BATCH)
  })

  test('PH-4 while nobody runs: the next start makes all leases anew where the group stood', async () => {
    const two = newFleet(options())
    const { hosts, leaseId } = await atRest(two)
    for (const host of hosts) await two.stop(host)
    await two.run(strike(two, leaseId))
    expect(await damageOf(two)).toBeDefined()
    write(two)
    const next = await two.start('c')
    expect(two.eventsOf(next, 'leasesDamaged')).toHaveLength(1)
    expect(two.eventsOf(next, 'recovered')).toMatchObject([{ byThisHost: true }])
    await two.until(() => two.isDrained())
    expect(two.duplicates().size).toBe(0)
    expect(await damageOf(two)).toBeUndefined()
  })
})

describe.each(DAMAGES.slice(0, 2))('$name', ({ options, strike }) => {
  test("onLeaseStoreLoss 'stop': hosts stop and say which keys nobody has, and a start is refused", async () => {
    const two = newFleet({ ...options(), hostOptions: { onLeaseStoreLoss: 'stop' } })
    const { hosts, leaseId } = await atRest(two)
    await two.run(strike(two, leaseId))
    await two.until(
      () => hosts.every(({ host }) => host.health().status === 'stopped'),
      2 * NOTICED_MS,
    )
    for (const host of hosts) {
      const { lastError } = host.host.health()
      expect(lastError).toMatchObject({ code: 'ERR_LEASES_VANISHED' })
      expect(String(lastError)).toContain(leaseId)
      expect(two.eventsOf(host, 'leasesDamaged')).toMatchObject([{ action: 'stop' }])
    }
    const late = two.create('late')
    await expect(two.run(two.register(late))).rejects.toMatchObject({ code: 'ERR_LEASES_VANISHED' })
    // What is left is left to whoever has to look into it.
    expect((await damageOf(two))?.missing.map(feedRangeId)).toEqual([leaseId])
  })

  test('a group of which the feed has no position for the missing keys is refused, and keeps its other leases', async () => {
    const two = newFleet(options())
    const { hosts, leaseId } = await atRest(two)
    for (const host of hosts) await two.stop(host)
    await two.run(strike(two, leaseId))
    const range = parseFeedRangeId(leaseId)!
    two.feed.positions.read = async (group) =>
      [{ ...FULL_RANGE, maxExclusive: range.minInclusive }].map((known) => {
        return { group, range: known, lsn: 0 as never }
      })
    const late = two.create('late')
    await expect(two.run(two.register(late))).rejects.toMatchObject({ code: 'ERR_LEASES_VANISHED' })
    expect((await damageOf(two))?.missing.map(feedRangeId)).toEqual([leaseId])
  })

  test('I1 an owner that is cut off works on its lease until its deadline at most, and nobody else before that', async () => {
    const two = newFleet({
      ...options(),
      behaviour: () => two.clock.sleep(50, new AbortController().signal),
    })
    const { hosts, leaseId } = await atRest(two)
    const isOwner = ({ host }: FleetHost): boolean =>
      host.health().leases.some((lease) => lease.leaseId === leaseId)
    const cut = hosts.find((host) => !isOwner(host))!
    cut.store.link = 'down'
    await two.run(strike(two, leaseId))
    for (let round = 0; round < 200; round += 1) {
      write(two, 2)
      await two.advance(100)
    }
    cut.store.link = 'up'
    await two.until(() => two.isBalanced() && two.isDrained())
    expect(hosts.flatMap((host) => two.eventsOf(host, 'leasesDamaged'))).not.toEqual([])
  })
})

test('of two leases that have keys in common the lower position is told last, and so is what counts', async () => {
  const { feed, leases: store } = newFleet()
  const group = await store.openGroup('group')
  const checkpoint = { continuation: 'c' as Continuation, lsn: lsn(50) }
  const [wide] = await group.create([{ range: FULL_RANGE, checkpoint }])
  const range = parseFeedRangeId('-80')!
  const narrow: Lease = { ...wide!, range, checkpoint: { ...checkpoint, lsn: lsn(10) } }
  for (const leases of [
    [wide!, narrow],
    [narrow, wide!],
  ]) {
    const told: number[] = []
    const mirror = new LeaseMirror({
      positions: {
        read: async () => [],
        report: async (positions) => void told.push(...positions.map((one) => one.lsn)),
      },
      group: 'group',
    })
    const about = { feed, group, mirror, keys: [FULL_RANGE], nextGeneration: 'next' }
    await loseDamagedLeases(leases, about, new AbortController().signal)
    expect(told).toEqual([50, 10])
  }
})
