import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commonKeys, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import { assertFleetHistory, Fleet, type FleetHost } from '@tidemark/testing'
import { ProcessorGroup } from './processor-group.ts'

/*
 * Operators at work while hosts come, go and die, and ranges split and merge. No operator skips anything here, so that
 * what always holds of a fleet has to hold: every change is delivered, first deliveries of a key are in order.
 */

const KEYS = Array.from({ length: 16 }, (_, index) => `key${index}`)
const never = new AbortController().signal

const action = fc.record({
  kind: fc.constantFrom(
    'write',
    'write',
    'split',
    'merge',
    'start',
    'stop',
    'kill',
    'pause',
    'resume',
    'seek',
    'seekAtOnce',
    'release',
    'restore',
  ),
  which: fc.nat(7),
  thenMs: fc.constantFrom(0, 20, 120, 700, 3_000),
})
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

interface Run {
  readonly fleet: Fleet
  readonly group: ProcessorGroup
  /** What is to be waited for, unless it is of a host that was killed meanwhile. */
  readonly pending: { readonly work: Promise<unknown>; readonly of: FleetHost | undefined }[]
  /** Calls that ran at once on one key, where nothing allows it. */
  readonly overlaps: string[]
  /** Something fenced or killed an owner without waiting for it: its call may still run. */
  mayOverlap: boolean
  snapshot: Awaited<ReturnType<ProcessorGroup['snapshot']>> | undefined
  hosts: number
}

function begin(): Run {
  const running = new Map<object, FeedRange>()
  const fleet = new Fleet({
    ranges: 3,
    feedOptions: { startFromBeginning: true },
    behaviour: async ({ range, leaseId }) => {
      const call = {}
      for (const other of running.values()) {
        if (rangesOverlap(other, range) && !run.mayOverlap) run.overlaps.push(leaseId)
      }
      running.set(call, range)
      await fleet.clock.sleep(25, never)
      running.delete(call)
    },
  })
  const { leases, feed, clock } = fleet
  const group = new ProcessorGroup({ leases, group: 'group', feed, clock })
  const run: Run = {
    fleet,
    group,
    pending: [],
    overlaps: [],
    mayOverlap: false,
    snapshot: undefined,
    hosts: 0,
  }
  return run
}

function alive({ fleet }: Run): readonly FleetHost[] {
  return fleet.hosts.filter(
    ({ gate, host }) => !gate.isFrozen && host.health().status !== 'stopped',
  )
}

async function take(run: Run, { kind, which }: Action): Promise<void> {
  const { fleet, group, pending } = run
  const { feed } = fleet
  const range = feed.ranges[which % feed.ranges.length]!
  const host = alive(run)[which % Math.max(1, alive(run).length)]
  const later = (work: Promise<unknown>, of?: FleetHost): void =>
    void pending.push({ work: work.catch(expectChanged), of })
  switch (kind) {
    case 'write':
      for (const key of KEYS) feed.append(key)
      return
    case 'split':
      feed.split(range)
      return
    case 'merge':
      feed.merge(range)
      return
    case 'start':
      if (alive(run).length > 3) return
      run.hosts += 1
      return later(fleet.register(fleet.create(`host${run.hosts}`)))
    case 'stop':
      if (host !== undefined) later(host.host.unregisterObservers(), host)
      return
    case 'kill':
      run.mayOverlap = true
      if (host !== undefined) fleet.kill(host)
      return
    case 'pause':
    case 'resume':
      return later(group[kind]())
    case 'seek':
      return later(group.seek({ to: 'beginning', ranges: [upperHalf(range)] }))
    case 'seekAtOnce':
      run.mayOverlap = true
      return later(group.seek({ to: 'beginning' }, { drainTimeoutMs: 0 }))
    case 'release': {
      run.mayOverlap = true
      const { leases } = await group.status()
      const lease = leases[which % Math.max(1, leases.length)]
      if (lease !== undefined) later(group.release(lease.leaseId))
      return
    }
    case 'restore': {
      const { snapshot } = run
      run.snapshot ??= await group.snapshot()
      if (snapshot !== undefined && snapshot.positions.length > 0) later(group.restore(snapshot))
    }
  }
}

/** Keys that leases have only in part. */
function upperHalf(range: FeedRange): FeedRange {
  const upper = { minInclusive: '0F', maxExclusive: '30' }
  return commonKeys(range, upper) ?? range
}

/** Others may always be first; before there are leases there is nothing to seek, and a host that is stopped early says so. */
function expectChanged(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : error
  expect(['ERR_LEASES_CHANGED', 'ERR_INVALID_OPTION', 'ERR_HOST_STOPPED']).toContain(code)
}

test('PH-4 LE-10 LE-11 operators, hosts and splits all at once: nothing is lost, keys stay in order, and calls do not overlap', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 3, maxLength: 25 }), async (actions) => {
      const run = begin()
      const { fleet, group } = run
      // Leases are parts of ranges here, which see the LSNs of their own keys only.
      fleet.feed.split(fleet.feed.ranges[0]!)
      await fleet.start('first')
      await fleet.until(() => fleet.isBalanced())
      for (const one of actions) {
        await take(run, one)
        await fleet.advance(one.thenMs)
      }
      await fleet.start('last')
      const pending = run.pending.filter(({ of }) => of?.gate.isFrozen !== true)
      await fleet.run(Promise.all(pending.map(({ work }) => work)), 600_000)
      await group.resume()
      for (const key of KEYS) fleet.feed.append(key)
      await fleet.until(() => fleet.isDrained() && fleet.coversAll(), 120_000)
      expect((await group.status()).paused).toBe(false)
      assertFleetHistory(fleet)
      expect(run.overlaps).toEqual([])
      await assertToldIsStored(run)
      await fleet.end()
    }),
    { numRuns: Number(process.env['FLEET_RUNS'] ?? 25) },
  )
})

/** TTL-14: what the feed is told is never above what is stored, once the reports have come. */
async function assertToldIsStored({ fleet, group }: Run): Promise<void> {
  await fleet.advance(5_000)
  const { leases } = await group.status()
  for (const { range, lsn } of await fleet.feed.positions.read('group')) {
    for (const lease of leases) {
      if (rangesOverlap(lease.range, range)) expect(lsn).toBeLessThanOrEqual(lease.lsn)
    }
  }
}
