import { describe, expect, test } from 'vitest'
import type { CloseReason, Lease } from '@tidemark/contracts'
import { FencePauses } from './fence-pauses.ts'
import {
  HEARTBEAT_MS,
  IDS,
  TTL_MS,
  at,
  held,
  lease,
  running,
  type Driver,
} from './lease-core-driver.fixture.ts'

const REFUSED = '-40'
const OTHERS = IDS.filter((id) => id !== REFUSED)

function mine(epoch = 7): Partial<Lease> {
  return { owner: { host: 'a', incarnation: 'i' }, epoch }
}

function closed(driver: Driver, reason: CloseReason = 'fenced', epoch = 7): void {
  driver.tell({
    kind: 'pumpClosed',
    held: held(REFUSED, epoch),
    checkpoint: at(3),
    reason,
    replacement: undefined,
  })
}

/** What the store answers to a look, if one is under way. */
function look(driver: Driver, refused: Partial<Lease>): void {
  driver.read([lease(REFUSED, refused), ...OTHERS.map((id) => lease(id, mine()))])
}

/** Time passes, and each beat is answered. */
function beatTo(driver: Driver, untilMs: number): void {
  while (driver.nowMs < untilMs) {
    driver.passTo(Math.min(untilMs, Math.max(driver.wakeAtMs, driver.nowMs + 1)))
    if (driver.pending('sync') !== undefined) driver.synced()
  }
}

describe('a lease whose epoch a sink refuses', () => {
  test('LE-11 is looked up at once, and what was done before is stored: whoever has it now is told by that', () => {
    const driver = running()
    closed(driver)
    expect(driver.pending('read')).toBeDefined()
    expect(driver.pending('checkpoint')).toMatchObject({
      request: { checkpoints: [{ ...held(REFUSED), checkpoint: at(3) }] },
    })
    expect(driver.pending('release')).toBeUndefined()
  })

  test('LE-11 is given back after the time of a session, not before, and got at a new epoch', () => {
    const driver = running()
    closed(driver)
    look(driver, mine())
    driver.answer({ op: 'checkpoint', reply: ['stored'] })
    beatTo(driver, TTL_MS - 1)
    expect(driver.pending('release')).toBeUndefined()
    expect(driver.pending('acquire')).toBeUndefined()
    expect(driver.core.held().find((one) => one.held.leaseId === REFUSED)?.state).toBe('fenced')
    expect(driver.of('startPump')).toEqual([])
    beatTo(driver, TTL_MS)
    // Nothing that was not stored before goes along.
    expect(driver.pending('release')).toEqual(
      expect.objectContaining({ request: expect.objectContaining({ releases: [held(REFUSED)] }) }),
    )
    driver.answer({ op: 'release', reply: ['released'] })
    expect(driver.notices('released')).toMatchObject([{ notice: { reason: 'fenced' } }])
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: [REFUSED] } })
    driver.acquired([REFUSED], 12)
    expect(driver.of('startPump').map((effect) => effect.held)).toEqual([held(REFUSED, 12)])
  })

  test('LE-11 I3 is lost, and never given back, when the store knows the newer owner', () => {
    const driver = running()
    closed(driver)
    look(driver, { owner: { host: 'b', incarnation: 'j' }, epoch: 9, target: 'b' })
    expect(driver.notices('lost')).toMatchObject([
      { notice: { held: held(REFUSED), cause: 'takenOver' } },
    ])
    driver.answer({ op: 'checkpoint', reply: ['lost'] })
    beatTo(driver, 10 * TTL_MS)
    expect(driver.pending('release')).toBeUndefined()
    expect(driver.pending('acquire')).toBeUndefined()
    expect(driver.of('startPump')).toEqual([])
  })

  test('LE-11 is lost by the refused position too, when the look is lost on the way', () => {
    const driver = running()
    closed(driver)
    driver.fail('read')
    driver.answer({ op: 'checkpoint', reply: ['lost'] })
    expect(driver.notices('lost')).toMatchObject([{ notice: { cause: 'checkpointRefused' } }])
  })

  test('I2 a position that the store lost meanwhile is stored again', () => {
    const driver = running()
    closed(driver)
    look(driver, mine())
    driver.answer({ op: 'checkpoint', reply: ['stored'] })
    driver.passTo(HEARTBEAT_MS)
    driver.synced({ heldMatches: false })
    driver.answer({ op: 'reconcile', reply: { unknownToHost: [], lost: [], behind: [REFUSED] } })
    expect(driver.pending('checkpoint')).toMatchObject({
      request: { checkpoints: [{ ...held(REFUSED), checkpoint: at(3) }] },
    })
  })

  test('LE-12 LE-6 goes at once to whom the plan gives it meanwhile, and when the host leaves', () => {
    const moved = running()
    closed(moved)
    look(moved, { ...mine(), target: 'b' })
    expect(moved.pending('release')).toMatchObject({ request: { releases: [held(REFUSED)] } })
    const left = running()
    closed(left)
    left.tell({ kind: 'leave' })
    expect(left.pending('release')).toMatchObject({ request: { releases: [held(REFUSED)] } })
  })

  test('LE-12 that is being handed over goes at once, with what was done', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.synced({ planVersion: 2, membershipVersion: 2 })
    driver.read([lease(REFUSED, { ...mine(), target: 'b' })], {
      planVersion: 2,
      membershipVersion: 2,
    })
    expect(driver.of('drainPump').map((effect) => effect.held)).toContainEqual(held(REFUSED))
    closed(driver)
    expect(driver.pending('release')).toMatchObject({
      request: { releases: [{ ...held(REFUSED), checkpoint: at(3) }] },
    })
  })

  test('LE-11 stands still for twice as long each time that it happens soon again', () => {
    const driver = running()
    let epoch = 7
    const pausesMs: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const beganMs = driver.nowMs
      closed(driver, 'fenced', epoch)
      look(driver, mine(epoch))
      driver.answer({ op: 'checkpoint', reply: ['stored'] })
      while (driver.pending('release') === undefined) beatTo(driver, driver.nowMs + 500)
      pausesMs.push(driver.nowMs - beganMs)
      driver.answer({ op: 'release', reply: ['released'] })
      driver.acquired([REFUSED], (epoch += 1))
    }
    expect(pausesMs).toEqual([TTL_MS, 2 * TTL_MS, 4 * TTL_MS])
  })
})

describe('pauses of leases that sinks refuse', () => {
  test('are bounded, of each lease by itself, and forgotten when it went well for a while', () => {
    const pauses = new FencePauses(8_000)
    const untilMs = [0, 0, 0, 0, 0].map((at) => pauses.begin('x', at))
    expect(untilMs).toEqual([8_000, 16_000, 32_000, 60_000, 60_000])
    expect(pauses.begin('y', 0)).toBe(8_000)
    expect(pauses.begin('x', 299_999)).toBe(359_999)
    expect(pauses.begin('x', 359_999 + 240_000)).toBe(607_999)
  })

  test('last a session at least, however long that is', () => {
    const pauses = new FencePauses(90_000)
    expect([pauses.begin('x', 0), pauses.begin('x', 0)]).toEqual([90_000, 90_000])
  })
})
