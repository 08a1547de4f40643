import { describe, expect, test } from 'vitest'
import type { CloseReason, HostProfile } from '@tidemark/contracts'
import {
  HEARTBEAT_MS,
  IDS,
  REFUSAL_MS,
  at,
  held,
  lease,
  running,
  type Driver,
} from './lease-core-driver.fixture.ts'

const HANGING = '-40'
const OTHERS = IDS.filter((id) => id !== HANGING)

function closed(driver: Driver, leaseId: string, reason: CloseReason, epoch = 7): void {
  driver.tell({
    kind: 'pumpClosed',
    held: held(leaseId, epoch),
    checkpoint: at(3),
    reason,
    replacement: undefined,
  })
}

/** What the beat under way says that this host cannot work on; undefined when none is under way. */
function refusedInBeat(driver: Driver): readonly string[] | undefined {
  const call = driver.pending('sync')
  return call?.op === 'sync' ? (call.request.profile.refuses ?? []) : undefined
}

/** Beats go on until then, each answered. */
function beatTo(driver: Driver, untilMs: number): void {
  while (driver.nowMs < untilMs) {
    driver.passTo(Math.min(untilMs, Math.max(driver.wakeAtMs, driver.nowMs + 1)))
    if (driver.pending('sync') !== undefined) driver.synced()
    if (driver.pending('read') !== undefined) driver.read(IDS.map((id) => lease(id, mine())))
  }
}

function mine(): { owner: { host: string; incarnation: string }; epoch: number } {
  return { owner: { host: 'a', incarnation: 'i' }, epoch: 7 }
}

describe('a lease whose observer hangs here', () => {
  test("PH-10 is released with its last position as 'observerStuck', and refused in the next beat, at once", () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    expect(driver.pending('release')).toMatchObject({
      request: { releases: [{ ...held(HANGING), checkpoint: at(3) }] },
    })
    expect(refusedInBeat(driver)).toEqual([HANGING])
    driver.answer({ op: 'release', reply: ['released'] })
    expect(driver.notices('released')).toMatchObject([{ notice: { reason: 'observerStuck' } }])
  })

  test('PH-10 a lost beat does not take the refusal back', () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    driver.fail('sync')
    driver.passTo(1_000)
    expect(refusedInBeat(driver)).toEqual([HANGING])
  })

  test('PH-10 is not acquired while it is refused, whatever an old plan says, nor kept when the store gives it', () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    driver.answer({ op: 'release', reply: ['released'] })
    driver.synced()
    beatTo(driver, 5 * HEARTBEAT_MS)
    expect(driver.pending('acquire')).toBeUndefined()
    // An acquire of before, of which the answer was lost.
    driver.passTo(driver.wakeAtMs)
    driver.synced({ heldMatches: false })
    const unknownToHost = [lease(HANGING, { ...mine(), epoch: 9 })]
    driver.answer({ op: 'reconcile', reply: { unknownToHost, lost: [], behind: [] } })
    expect(driver.of('startPump')).toEqual([])
    expect(driver.pending('release')).toMatchObject({
      request: { releases: [held(HANGING, 9)] },
    })
  })

  test('PH-10 goes to another host by the plan of whoever plans', () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    driver.answer({ op: 'release', reply: ['released'] })
    driver.synced({ membershipVersion: 2, planVersion: 1 })
    driver.passTo(driver.nowMs + 100)
    const profile: HostProfile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
    const hosts = [
      {
        host: 'a',
        incarnation: 'i',
        profile: { ...profile, refuses: [HANGING] },
        deadlineMs: 9_000,
      },
      { host: 'b', incarnation: 'j', profile, deadlineMs: 9_000 },
    ]
    const leases = [lease(HANGING), ...OTHERS.map((id) => lease(id, mine()))]
    driver.read(leases, { hosts, membershipVersion: 2, planVersion: 1 })
    const plan = driver.pending('plan')
    const targets = plan?.op === 'plan' ? plan.request.targets : new Map<string, string>()
    expect(targets.get(HANGING)).toBe('b')
  })

  test('PH-10 of a host alone it belongs to nobody until the refusal is over, then to that host again', () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    driver.answer({ op: 'release', reply: ['released'] })
    driver.synced({ membershipVersion: 2, planVersion: 1 })
    driver.passTo(driver.nowMs + 100)
    const profile: HostProfile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
    const alone = (refuses: readonly string[]) => [
      { host: 'a', incarnation: 'i', profile: { ...profile, refuses }, deadlineMs: 9_000 },
    ]
    const leases = [lease(HANGING), ...OTHERS.map((id) => lease(id, mine()))]
    driver.read(leases, { hosts: alone([HANGING]), membershipVersion: 2, planVersion: 1 })
    driver.answer({ op: 'plan', reply: true })
    expect(driver.notices('unowned')).toMatchObject([{ notice: { leaseIds: [HANGING] } }])
    while (refusedInBeat(driver)?.length !== 0) {
      if (driver.pending('sync') !== undefined)
        driver.synced({ membershipVersion: 2, planVersion: 2 })
      driver.passTo(Math.max(driver.wakeAtMs, driver.nowMs + 1))
      expect(driver.nowMs).toBeLessThanOrEqual(REFUSAL_MS)
    }
    // At the very moment, not with the beat that was due anyway.
    expect(driver.nowMs).toBe(REFUSAL_MS)
    driver.synced({ membershipVersion: 3, planVersion: 2 })
    driver.passTo(driver.nowMs + 100)
    driver.read(leases, { hosts: alone([]), membershipVersion: 3, planVersion: 2 })
    driver.answer({ op: 'plan', reply: true })
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: [HANGING] } })
    driver.acquired([HANGING], 8)
    expect(driver.of('startPump').map((effect) => effect.held)).toEqual([held(HANGING, 8)])
  })

  test('PH-10 stays refused over a session that ended: the host joins with it', () => {
    const driver = running()
    closed(driver, HANGING, 'observerStuck')
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
    driver.read([], { hosts: [] })
    const join = driver.pending('sync')
    expect(join).toMatchObject({ request: { intent: 'join', incarnation: 'i.1' } })
    expect(refusedInBeat(driver)).toEqual([HANGING])
  })
})

describe('a paused group', () => {
  const NOBODY = IDS.map((id) => lease(id, { ...mine(), target: undefined }))

  test('drains and releases every lease, with its position, and the host stays', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'membership', jitter: 0 })
    driver.passTo(100)
    driver.read(NOBODY, { paused: true, membershipVersion: 2, planVersion: 1 })
    const plan = driver.pending('plan')
    expect(plan?.op === 'plan' && [...plan.request.targets]).toEqual([])
    driver.answer({ op: 'plan', reply: true })
    expect(driver.of('drainPump').map((effect) => effect.held)).toEqual(IDS.map((id) => held(id)))
    for (const id of IDS) closed(driver, id, 'leaseHandedOver')
    // All of them that closed in time go together with the next call.
    for (let rest = IDS.length; rest > 0;) {
      const release = driver.pending('release')
      const count = release?.op === 'release' ? release.request.releases.length : 0
      expect(count).toBeGreaterThan(0)
      driver.answer({ op: 'release', reply: Array.from({ length: count }, () => 'released') })
      rest -= count
    }
    expect(driver.notices('released')).toHaveLength(IDS.length)
    expect(driver.pending('acquire')).toBeUndefined()
    expect(driver.core.status).toBe('joined')
    // Nobody is to be alarmed: it is what the operator wants.
    expect(driver.notices('unowned')).toEqual([])
    beatOnly(driver)
  })

  test('a plan that another host has stored for it is followed as well', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read(NOBODY, { paused: true, membershipVersion: 2, planVersion: 2 })
    expect(driver.of('drainPump')).toHaveLength(IDS.length)
  })

  test('that is resumed is planned and acquired again', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read(NOBODY, { paused: true, membershipVersion: 2, planVersion: 2 })
    for (const id of IDS) closed(driver, id, 'leaseHandedOver')
    while (driver.core.held().length > 0) {
      const release = driver.pending('release')
      const count = release?.op === 'release' ? release.request.releases.length : 0
      driver.answer({ op: 'release', reply: Array.from({ length: count }, () => 'released') })
    }
    driver.tell({ kind: 'hint', hint: 'membership', jitter: 0 })
    driver.passTo(driver.nowMs + 100)
    const free = IDS.map((id) => lease(id, { target: undefined, epoch: 7 }))
    driver.read(free, { membershipVersion: 3, planVersion: 2 })
    const plan = driver.pending('plan')
    expect(plan?.op === 'plan' && [...plan.request.targets.keys()].sort()).toEqual([...IDS].sort())
    driver.answer({ op: 'plan', reply: true })
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: IDS } })
    driver.acquired(IDS, 8)
    expect(driver.of('startPump')).toHaveLength(IDS.length)
  })
})

/** From now on nothing but heartbeats goes to the store. */
function beatOnly(driver: Driver): void {
  const calls = driver.of('call').length
  for (let beat = 0; beat < 5; beat += 1) {
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    driver.synced({ membershipVersion: 2, planVersion: 2 })
  }
  const ops = driver
    .of('call')
    .slice(calls)
    .map(({ call }) => call.op)
  expect(new Set(ops)).toEqual(new Set(['sync']))
}
