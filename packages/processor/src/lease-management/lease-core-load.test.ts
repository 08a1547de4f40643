import { expect, test } from 'vitest'
import type { HostProfile, HostSession, Lease } from '@tidemark/contracts'
import { loadText } from '../load-balancing/lease-loads.ts'
import { Driver, IDS, lease, running } from './lease-core-driver.fixture.ts'

const HOUR_US = 3_600_000_000
const NOW_MS = 7_200_000
const ROUND_MS = 15_000

function session(host: string, profile: Partial<HostProfile> = {}): HostSession {
  const bounds = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
  return {
    host,
    incarnation: 'i',
    deadlineMs: 8_000,
    profile: { ...bounds, balanceBy: 'load', ...profile },
  }
}

/** `a` has two heavy leases, `b` two light ones. */
const LOADS = [
  session('a', {
    load: loadText(
      new Map([
        [IDS[0]!, 400],
        [IDS[1]!, 300],
      ]),
    ),
  }),
  session('b', {
    load: loadText(
      new Map([
        [IDS[2]!, 1],
        [IDS[3]!, 1],
      ]),
    ),
  }),
]
const LEASES = IDS.map((id, index): Lease => {
  const host = index < 2 ? 'a' : 'b'
  return lease(id, {
    owner: { host, incarnation: 'i' },
    target: host,
    epoch: HOUR_US,
    timestampMs: NOW_MS,
  })
})

/** Beats, and is answered, until it reads. */
function untilRead(driver: Driver, untilMs: number): boolean {
  while (driver.nowMs < untilMs) {
    driver.passTo(driver.nowMs + 100)
    if (driver.pending('sync') !== undefined) driver.synced()
    if (driver.pending('read') !== undefined) return true
  }
  return false
}

/** Follows a plan, and has told what its leases cost. */
function follower(host: string, hosts: readonly HostSession[] = LOADS): Driver {
  const driver = new Driver({ host })
  driver.tell({ kind: 'start' })
  driver.synced()
  driver.read(LEASES, { hosts })
  return driver
}

test('PH-14 the first host by name looks at the loads every 15 s, and the others do not', () => {
  const first = follower('a')
  expect(untilRead(first, ROUND_MS - 200)).toBe(false)
  expect(untilRead(first, ROUND_MS + 200)).toBe(true)
  expect(untilRead(follower('b'), 4 * ROUND_MS)).toBe(false)
})

test('PH-14 nobody looks while a host counts leases, or is alone', () => {
  expect(untilRead(follower('a', [LOADS[0]!, session('b', { balanceBy: 'count' })]), 60_000)).toBe(
    false,
  )
  expect(untilRead(follower('a', [LOADS[0]!]), 60_000)).toBe(false)
  expect(
    untilRead(follower('b', [session('a', { leaving: true }), LOADS[1]!, session('c')]), 60_000),
  ).toBe(true)
})

test('PH-14 loads that differ lead to a plan in the place of the current one, which its host follows', () => {
  const driver = follower('a')
  untilRead(driver, 60_000)
  driver.read(LEASES, { hosts: LOADS })
  const call = driver.pending('plan')
  expect(call).toMatchObject({ request: { membershipVersion: 1, rebalances: true } })
  driver.answer({ op: 'plan', reply: true })
  expect(driver.notices('rebalanced').at(-1)).toMatchObject({
    notice: { membershipVersion: 2, mine: 1 },
  })
  // Its own plan is no news.
  driver.passTo(driver.nowMs + 2_000)
  driver.synced({ membershipVersion: 2, planVersion: 2 })
  expect(driver.pending('read')).toBeUndefined()
})

test('PH-14 a host that was not the first with its plan reads that of the other', () => {
  const driver = follower('a')
  untilRead(driver, 60_000)
  driver.read(LEASES, { hosts: LOADS })
  driver.answer({ op: 'plan', reply: false })
  expect(driver.pending('read')).toBeDefined()
})

test('PH-14 even loads lead to no plan', () => {
  const driver = follower('a')
  untilRead(driver, 60_000)
  const even = [
    LOADS[0]!,
    session('b', {
      load: loadText(
        new Map([
          [IDS[2]!, 400],
          [IDS[3]!, 300],
        ]),
      ),
    }),
  ]
  driver.read(LEASES, { hosts: even })
  expect(driver.pending('plan')).toBeUndefined()
  expect(untilRead(driver, driver.nowMs + ROUND_MS + 200)).toBe(true)
})

test('hosts that count leases read nothing at rest', () => {
  expect(untilRead(running(), 120_000)).toBe(false)
})

test('PH-14 while the leases are gone there is nothing to look at: no read follows the other at once', () => {
  const driver = follower('a')
  expect(untilRead(driver, 60_000)).toBe(true)
  driver.read([], { hosts: LOADS })
  driver.passTo(driver.nowMs + 100)
  expect(driver.pending('read')).toBeUndefined()
})
