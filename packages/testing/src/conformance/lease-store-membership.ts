import { describe, expect, test } from 'vitest'
import { DIGEST_MODULUS, type HostProfile } from '@tidemark/contracts'
import {
  CAP_MS,
  identity,
  idsOf,
  newLeases,
  ownedGroup,
  passTime,
  position,
  PROFILE,
  syncOk,
  syncRequest,
  TTL_MS,
} from './lease-store-fixtures.ts'
import type { LeaseStoreSuite } from './lease-store.ts'

const A = identity('a')
const B = identity('b')

export function describeMembership(suite: LeaseStoreSuite): void {
  describe('sessions', () => {
    test('a host that joins is seen by others, and its join may be repeated', async () => {
      const { one, two } = await suite.group()
      const first = await syncOk(one, A, 'join')
      const again = await syncOk(one, A, 'join')
      expect(again.membershipVersion).toBe(first.membershipVersion)
      const { hosts, membershipVersion } = await two.read()
      expect(membershipVersion).toBe(first.membershipVersion)
      expect(hosts).toEqual([{ ...A, profile: PROFILE, deadlineMs: again.clockMs + TTL_MS }])
    })

    test('a beat without a session is fenced and makes none', async () => {
      const { one } = await suite.group()
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'fenced' })
      expect((await one.read()).hosts).toEqual([])
    })

    test('each join, leave, changed profile and expiry raises the membership version; beats do not', async () => {
      const { one, two } = await suite.group()
      const joined = await syncOk(one, A, 'join')
      const second = await syncOk(two, B, 'join')
      expect(second.membershipVersion).toBe(joined.membershipVersion + 1)
      expect((await syncOk(one, A, 'beat')).membershipVersion).toBe(second.membershipVersion)
      const leaving = { ...PROFILE, leaving: true, maxLeases: 7, weight: 0.5 }
      const drains = await syncOk(one, A, 'beat', { profile: leaving })
      expect(drains.membershipVersion).toBe(second.membershipVersion + 1)
      expect((await two.read()).hosts[0]?.profile).toEqual(leaving)
      const left = await syncOk(one, A, 'leave')
      expect(left.membershipVersion).toBe(second.membershipVersion + 2)
      expect((await two.read()).hosts.map(({ host }) => host)).toEqual(['b'])
    })

    test('every part of a profile counts when it alone changes; left out and said to be the default are the same', async () => {
      const { one, two } = await suite.group()
      const joined = await syncOk(one, A, 'join')
      const same = { ...PROFILE, standby: false, refuses: [] }
      const beaten = await syncOk(one, A, 'beat', { profile: same })
      expect(beaten.membershipVersion).toBe(joined.membershipVersion)
      let { membershipVersion } = beaten
      let profile: HostProfile = PROFILE
      for (const change of [
        { leaving: true },
        { weight: 2 },
        { minLeases: 1 },
        { maxLeases: 7 },
        { standby: true },
        { refuses: ['-80'] },
        { refuses: ['80-FF'] },
        { refuses: ['-80', '80-FF'] },
      ]) {
        profile = { ...profile, ...change }
        const changed = await syncOk(one, A, 'beat', { profile })
        membershipVersion += 1
        expect(changed.membershipVersion).toBe(membershipVersion)
        const again = await syncOk(one, A, 'beat', { profile })
        expect(again.membershipVersion).toBe(membershipVersion)
        expect((await two.read()).hosts[0]?.profile).toMatchObject(profile)
      }
      await syncOk(one, A, 'beat', { profile: PROFILE })
      const [host] = (await two.read()).hosts
      expect(host?.profile.standby ?? false).toBe(false)
      expect(host?.profile.refuses ?? []).toEqual([])
    })

    test('leaving may be repeated, and a replaced process cannot end its successor’s session', async () => {
      const { one, two } = await suite.group()
      await syncOk(one, A, 'join')
      const left = await syncOk(one, A, 'leave')
      expect((await syncOk(one, A, 'leave')).membershipVersion).toBe(left.membershipVersion)
      const next = identity('a', 'a-2')
      await syncOk(two, next, 'join')
      expect(await one.sync(syncRequest(A, 'leave'))).toMatchObject({ kind: 'fenced' })
      expect((await two.read()).hosts).toMatchObject([next])
    })

    test('a second process of the same name replaces the first, which is fenced', async () => {
      const { one, two } = await suite.group()
      const joined = await syncOk(one, A, 'join')
      const second = await syncOk(two, identity('a', 'a-2'), 'join')
      expect(second.membershipVersion).toBe(joined.membershipVersion + 1)
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'fenced' })
      expect((await one.read()).hosts).toMatchObject([{ host: 'a', incarnation: 'a-2' }])
    })

    test('LE-4 a session expires by the lease clock when its host does not beat, and is fenced', async () => {
      const { one, two } = await suite.group()
      await syncOk(one, A, 'join')
      const { membershipVersion } = await syncOk(two, B, 'join')
      await passTime(two, suite.time(), TTL_MS - CAP_MS, [B])
      expect((await two.read()).hosts).toHaveLength(2)
      await passTime(two, suite.time(), CAP_MS, [B])
      const after = await two.read()
      expect(after.hosts.map(({ host }) => host)).toEqual(['b'])
      expect(after.membershipVersion).toBe(membershipVersion + 1)
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'fenced' })
    })

    test('the lease clock never jumps by more than the cap and never goes back', async () => {
      const { one, two } = await suite.group()
      const { clockMs } = await syncOk(one, A, 'join')
      await syncOk(two, B, 'join')
      suite.time().advance(3_600_000)
      const late = await syncOk(one, A, 'beat')
      expect(late.clockMs).toBe(clockMs + CAP_MS)
      expect((await one.read()).hosts).toHaveLength(2)
      suite.time().advance(-3_600_000)
      // A store that keeps its own clock from going back may have none of it.
      const back = await syncOk(one, A, 'beat')
      expect(back.clockMs).toBe(late.clockMs)
      suite.time().advance(3_600_000)
      const forth = await syncOk(one, A, 'beat')
      expect(forth.clockMs - back.clockMs).toBeLessThanOrEqual(CAP_MS)
    })

    test('the earliest deadline among the others comes with each beat', async () => {
      const { one, two } = await suite.group()
      expect((await syncOk(one, A, 'join')).nextDeadlineInMs).toBeUndefined()
      await syncOk(two, B, 'join')
      suite.time().advance(500)
      await syncOk(two, identity('c'), 'join')
      expect((await syncOk(one, A, 'beat')).nextDeadlineInMs).toBe(TTL_MS - 500)
    })

    test('the digest of what a host holds is compared with what the store attributes to it', async () => {
      const { one } = await suite.group()
      const held = await ownedGroup(one, A, 3)
      const checkpoints = held.map(({ leaseId, epoch }, index) => ({
        leaseId,
        epoch,
        checkpoint: position(2 ** 40 + index),
      }))
      await one.checkpoint({ ...A, checkpoints })
      const sum = (values: number[]): number =>
        values.reduce((total, value) => (total + (value % DIGEST_MODULUS)) % DIGEST_MODULUS, 0)
      const digest = {
        count: 3,
        epochSum: sum(held.map(({ epoch }) => epoch)),
        lsnSum: sum(checkpoints.map(({ checkpoint }) => checkpoint.lsn)),
      }
      expect((await syncOk(one, A, 'beat', { held: digest })).heldMatches).toBe(true)
      for (const wrong of [
        { ...digest, count: 2 },
        { ...digest, epochSum: digest.epochSum + 1 },
        { ...digest, lsnSum: digest.lsnSum + 1 },
      ]) {
        expect((await syncOk(one, A, 'beat', { held: wrong })).heldMatches).toBe(false)
      }
      expect((await syncOk(one, A, 'beat')).heldMatches).toBe(true)
    })

    test('the generation is one for all hosts and stays', async () => {
      const { one, two } = await suite.group()
      const { generation } = await one.read()
      expect(generation).not.toBe('')
      expect((await syncOk(two, B, 'join')).generation).toBe(generation)
      expect((await two.read()).generation).toBe(generation)
    })
  })

  describe('plan', () => {
    test('of two plans for one membership the first wins', async () => {
      const { one, two } = await suite.group()
      const leases = newLeases(4)
      await one.create(leases)
      await syncOk(one, A, 'join')
      const { membershipVersion } = await syncOk(two, B, 'join')
      const all = (host: string): Map<string, string> =>
        new Map(idsOf(leases).map((leaseId) => [leaseId, host]))
      const results = await Promise.all([
        one.plan({ membershipVersion, targets: all('a') }),
        two.plan({ membershipVersion, targets: all('b') }),
      ])
      expect(results.filter(Boolean)).toHaveLength(1)
      const winner = results[0] === true ? 'a' : 'b'
      const snapshot = await one.read()
      expect(snapshot.planVersion).toBe(membershipVersion)
      expect(snapshot.leases.map(({ target }) => target)).toEqual(leases.map(() => winner))
    })

    test('a plan for an earlier membership, or for one not there yet, changes nothing', async () => {
      const { one } = await suite.group()
      const leases = newLeases(2)
      await one.create(leases)
      const targets = new Map(idsOf(leases).map((leaseId) => [leaseId, 'a']))
      const { membershipVersion } = await syncOk(one, A, 'join')
      expect(await one.plan({ membershipVersion: membershipVersion - 1, targets })).toBe(false)
      expect(await one.plan({ membershipVersion: membershipVersion + 1, targets })).toBe(false)
      expect((await one.read()).leases.map(({ target }) => target)).toEqual([undefined, undefined])
    })

    test('leases that a plan does not name, and names that are no leases, have no target', async () => {
      const { one } = await suite.group()
      const leases = newLeases(2)
      await one.create(leases)
      const [first = '', second = ''] = idsOf(leases)
      const before = await syncOk(one, A, 'join')
      const targets = new Map([
        [first, 'a'],
        [second, 'a'],
      ])
      await one.plan({ membershipVersion: before.membershipVersion, targets })
      const { membershipVersion } = await syncOk(one, B, 'join')
      const next = new Map([
        [second, 'b'],
        ['AA-BB', 'b'],
      ])
      expect(await one.plan({ membershipVersion, targets: next })).toBe(true)
      const after = await one.read()
      expect(after.leases.map(({ id, target }) => [id, target])).toEqual([
        [first, undefined],
        [second, 'b'],
      ])
    })

    test('a plan changes the etag of exactly the leases whose target it changes', async () => {
      const { one } = await suite.group()
      const leases = newLeases(2)
      const created = await one.create(leases)
      const [first = ''] = idsOf(leases)
      const { membershipVersion } = await syncOk(one, A, 'join')
      await one.plan({ membershipVersion, targets: new Map([[first, 'a']]) })
      const after = (await one.read()).leases
      expect(after[0]?.etag).not.toBe(created[0]?.etag)
      expect(after[1]?.etag).toBe(created[1]?.etag)
    })
  })
}
