import { describe, expect, test } from 'vitest'
import type { LeaseHint } from '@tidemark/contracts'
import {
  heldOf,
  identity,
  idsOf,
  newLeases,
  ownedGroup,
  position,
  syncOk,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const B = identity('b')

export function describePause(suite: LeaseStoreSuite): void {
  describe('pause', () => {
    test('a group is not paused at first; pausing and resuming say whether they changed anything', async () => {
      const { one, two } = await suite.group()
      expect((await one.read()).paused).toBe(false)
      expect(await one.setPaused(false)).toBe(false)
      const before = await one.read()
      expect(await two.setPaused(true)).toBe(true)
      const paused = await one.read()
      expect(paused).toEqual({
        ...before,
        paused: true,
        membershipVersion: before.membershipVersion + 1,
      })
      expect(await one.setPaused(true)).toBe(false)
      expect(await two.read()).toEqual(paused)
      expect(await one.setPaused(false)).toBe(true)
      const resumed = await two.read()
      expect(resumed).toMatchObject({
        paused: false,
        membershipVersion: before.membershipVersion + 2,
      })
      expect(await two.setPaused(false)).toBe(false)
    })

    test('while the group is paused plans are stored empty: owners may checkpoint and release, nobody may acquire', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 3)
      const leaseIds = held.map(({ leaseId }) => leaseId)
      await two.setPaused(true)
      const { membershipVersion } = await syncOk(two, B, 'join')
      const targets = new Map(leaseIds.map((leaseId) => [leaseId, 'b']))
      expect(await two.plan({ membershipVersion, targets })).toBe(true)
      const planned = await one.read()
      expect(planned.planVersion).toBe(membershipVersion)
      expect(planned.leases.map(({ target }) => target)).toEqual([undefined, undefined, undefined])
      expect(planned.leases.every(({ owner }) => owner?.host === 'a')).toBe(true)
      const [first, ...rest] = held.map((lease) => ({
        ...heldOf(lease),
        checkpoint: position(4),
      }))
      if (first === undefined) throw new Error('three leases were acquired')
      expect(await one.checkpoint({ ...A, checkpoints: [first] })).toEqual(['stored'])
      expect(await one.release({ ...A, releases: [first, ...rest] })).toEqual([
        'released',
        'released',
        'released',
      ])
      expect(await one.acquire({ ...A, leaseIds })).toEqual([])
      expect(await two.acquire({ ...B, leaseIds })).toEqual([])
      // The hosts stay, and so does the pause when one of them comes or goes.
      expect((await syncOk(one, A, 'beat')).planVersion).toBe(membershipVersion)
      const left = await syncOk(two, B, 'leave')
      const again = { membershipVersion: left.membershipVersion, targets }
      expect(await one.plan(again)).toBe(true)
      expect(await one.acquire({ ...A, leaseIds })).toEqual([])
      expect((await one.read()).paused).toBe(true)
    })

    test('after it is resumed the next plan gives the leases out again, where they stood', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 2)
      await two.setPaused(true)
      const paused = await syncOk(one, A, 'beat')
      const targets = new Map(held.map(({ leaseId }) => [leaseId, 'a']))
      await one.plan({ membershipVersion: paused.membershipVersion, targets })
      const releases = held.map((lease) => ({ ...heldOf(lease), checkpoint: position(7) }))
      await one.release({ ...A, releases })
      await two.setPaused(false)
      const resumed = await syncOk(one, A, 'beat')
      // The empty plan was made for the membership before: it is stale now.
      expect(resumed.planVersion).toBeLessThan(resumed.membershipVersion)
      expect(await one.plan({ membershipVersion: resumed.membershipVersion, targets })).toBe(true)
      const leaseIds = [...targets.keys()]
      const acquired = await one.acquire({ ...A, leaseIds })
      expect(acquired.map(({ lease }) => lease.checkpoint)).toEqual([position(7), position(7)])
    })

    test('a plan made before the pause does not come into force', async () => {
      const { one, two } = await suite.group()
      const leases = newLeases(2)
      await one.create(leases)
      const { membershipVersion } = await syncOk(one, A, 'join')
      await two.setPaused(true)
      const targets = new Map(idsOf(leases).map((leaseId) => [leaseId, 'a']))
      expect(await one.plan({ membershipVersion, targets })).toBe(false)
    })

    test('of two that pause at once one is told that it did; leases and their discard do not resume', async () => {
      const { one, two } = await suite.group()
      const results = await Promise.all([one.setPaused(true), two.setPaused(true)])
      expect(results.toSorted()).toEqual([false, true])
      await one.create(newLeases(2))
      await two.discard('x')
      await two.create(newLeases(3))
      expect((await one.read()).paused).toBe(true)
    })

    test.skipIf(suite.options.hints === false)('LE-12 pausing wakes the hosts', async () => {
      const { one, two } = await suite.group()
      const hints = new Set<LeaseHint>()
      one.subscribe((hint) => hints.add(hint))
      let paused = false
      // A subscription takes a moment, and hints may be lost: the cause is repeated.
      await expect
        .poll(
          async () => {
            paused = !paused
            await two.setPaused(paused)
            return hints.has('membership')
          },
          { timeout: 20_000, interval: 5 },
        )
        .toBe(true)
    })
  })
}
