import { describe, expect, test } from 'vitest'
import { DIGEST_MODULUS, type HostProfile, type LeaseGroup } from '@tidemark/contracts'
import {
  CAP_MS,
  identity,
  idsOf,
  newLeases,
  observingGroup,
  ownedGroup,
  passTime,
  position,
  PROFILE,
  syncOk,
  syncRequest,
  TTL_MS,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const B = identity('b')

/** Two hosts beat, over connections of their own: then the store knows how far they are. */
async function beatFor(
  suite: LeaseStoreSuite,
  durationMs: number,
  { one, two }: { readonly one: LeaseGroup; readonly two: LeaseGroup },
): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += CAP_MS) {
    await passTime(one, suite.time(), CAP_MS, [A])
    await two.sync(syncRequest(B, 'beat'))
  }
}

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
      const same = {
        ...PROFILE,
        standby: false,
        refuses: [],
        leasesPerRange: 1,
        balanceBy: 'count' as const,
      }
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
        { leasesPerRange: 4 },
        { balanceBy: 'load' as const },
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
      await beatFor(suite, 3 * CAP_MS, { one, two })
      await passTime(two, suite.time(), TTL_MS - CAP_MS, [B])
      expect((await two.read()).hosts).toHaveLength(2)
      await passTime(two, suite.time(), CAP_MS, [B])
      const after = await two.read()
      expect(after.hosts.map(({ host }) => host)).toEqual(['b'])
      expect(after.membershipVersion).toBe(membershipVersion + 1)
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'fenced' })
    })

    test('LE-16 the session of a host that is gone ends at once, and its leases are free', async () => {
      const { one, two } = await suite.group()
      await ownedGroup(one, A, 2)
      const { membershipVersion } = await syncOk(two, B, 'join')
      const told = await syncOk(two, B, 'beat', { gone: [identity('c'), A] })
      expect(told.membershipVersion).toBe(membershipVersion + 1)
      const { hosts, leases } = await two.read()
      expect(hosts).toMatchObject([B])
      const targets = new Map(leases.map(({ id }) => [id, 'b']))
      await two.plan({ membershipVersion: told.membershipVersion, targets })
      const taken = await two.acquire({ ...B, leaseIds: leases.map(({ id }) => id) })
      for (const { lease, epoch } of taken) {
        expect(epoch).toBeGreaterThan(leases.find(({ id }) => id === lease.id)?.epoch ?? Infinity)
      }
      expect(taken).toHaveLength(2)
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'fenced' })
      const again = await syncOk(two, B, 'beat', { gone: [A] })
      expect(again.membershipVersion).toBe(told.membershipVersion)
    })

    test('LE-16 that another incarnation or another host is gone ends no session', async () => {
      const { one, two } = await suite.group()
      await syncOk(one, A, 'join')
      const { membershipVersion } = await syncOk(two, B, 'join')
      const gone = [identity('a', 'a-0'), identity('c', A.incarnation), identity('c')]
      expect((await syncOk(two, B, 'beat', { gone })).membershipVersion).toBe(membershipVersion)
      expect((await two.read()).hosts).toMatchObject([A, B])
      expect(await one.sync(syncRequest(A, 'beat'))).toMatchObject({ kind: 'ok' })
    })

    test('the lease clock never jumps by more than the cap and never goes back', async () => {
      const { one, two } = await suite.group()
      const { clockMs } = await syncOk(one, A, 'join')
      await syncOk(two, B, 'join')
      suite.time().advance(3_600_000)
      const late = await syncOk(one, A, 'beat')
      expect(late.clockMs).toBe(clockMs + CAP_MS)
      expect((await one.read()).hosts).toHaveLength(2)
      suite.time().step(-3_600_000)
      expect((await syncOk(one, A, 'beat')).clockMs).toBe(late.clockMs)
      suite.time().step(3_600_000)
      expect((await syncOk(one, A, 'beat')).clockMs).toBe(late.clockMs)
    })

    test('LE-4 I1 a session ends no sooner than it should however often the store’s clock is set forward', async () => {
      const { one, two } = await suite.group()
      await syncOk(one, A, 'join')
      await syncOk(two, B, 'join')
      await beatFor(suite, 3 * CAP_MS, { one, two })
      let livedMs = 0
      while ((await two.read()).hosts.length === 2 && livedMs < 2 * TTL_MS) {
        suite.time().step(CAP_MS)
        await passTime(two, suite.time(), 100, [B])
        livedMs += 100
      }
      expect(livedMs).toBeGreaterThanOrEqual(TTL_MS)
      expect(livedMs).toBeLessThanOrEqual(TTL_MS + CAP_MS)
    })

    test.each([
      ['by an hour', -3_600_000],
      ['by less than a heartbeat', -700],
    ])(
      'LE-4 I1 a dead host is dropped in time after the store’s clock was set back %s, and no sooner than it should be',
      async (_how, byMs) => {
        const { one, two } = await suite.group()
        await syncOk(one, A, 'join')
        await syncOk(two, B, 'join')
        await beatFor(suite, 3 * CAP_MS, { one, two })
        suite.time().step(byMs)
        suite.time().advance(CAP_MS - 100)
        // The last that is heard of it, right before the other one tells of the time that has passed.
        const { clockMs } = await syncOk(one, A, 'beat')
        let livedMs = 0
        while ((await two.read()).hosts.length === 2 && livedMs < 4 * TTL_MS) {
          await passTime(two, suite.time(), 100, [B])
          livedMs += 100
        }
        expect(livedMs).toBeGreaterThanOrEqual(TTL_MS)
        expect(livedMs).toBeLessThanOrEqual(TTL_MS + CAP_MS)
        expect((await two.read()).clockMs).toBeGreaterThanOrEqual(clockMs)
        suite.time().step(-byMs)
      },
    )

    test('I1 a session lasts from what another host may prove, though one that saw less told a heartbeat later', async () => {
      const { one, two } = await suite.group()
      const time = suite.time()
      const { clockMs: startMs } = await syncOk(one, A, 'join')
      await syncOk(two, B, 'join')
      time.advance(CAP_MS - 100)
      await syncOk(one, A, 'beat')
      time.advance(100)
      const { clockMs } = await syncOk(one, A, 'beat')
      expect(clockMs).toBe(startMs + CAP_MS)
      const { storeMs } = await syncOk(two, B, 'beat')
      time.advance(CAP_MS)
      // The answer to b was on its way for 600 ms: it saw that much less pass.
      const observed = { clockMs, storeMs, elapsedMs: CAP_MS - 600 }
      const late = await syncOk(two, B, 'beat', { observed })
      expect(late.clockMs).toBe(clockMs + CAP_MS - 600)
      const again = { ...observed, clockMs: late.clockMs, storeMs: late.storeMs, elapsedMs: 0 }
      await syncOk(two, B, 'beat', { observed: again })
      const deadlineMs = (await two.read()).hosts.find(({ host }) => host === 'b')?.deadlineMs
      expect(deadlineMs).toBeGreaterThanOrEqual(clockMs + CAP_MS + TTL_MS)
    })

    test('LE-4 I1 what a host saw by a heartbeat that the store has lost moves no clock', async () => {
      const { one, two } = await suite.group()
      const time = suite.time()
      await syncOk(one, A, 'join')
      await syncOk(two, B, 'join')
      time.advance(1_000)
      const { clockMs, storeMs } = await syncOk(two, B, 'beat')
      time.advance(600)
      // As b saw it 300 ms after the last heartbeat of it that is stored: no more than has really passed.
      const lost = { clockMs, storeMs: storeMs + 300, elapsedMs: 300 }
      const after = await syncOk(two, B, 'beat', { observed: lost })
      expect(after.clockMs).toBe(clockMs)
      // Nor does what another process of its name saw.
      const other = identity('b', 'b-0')
      const mine = { clockMs: after.clockMs, storeMs: after.storeMs, elapsedMs: 300 }
      time.advance(300)
      expect((await syncOk(one, other, 'join', { observed: mine })).clockMs).toBe(clockMs)
      time.advance(300)
      expect((await syncOk(one, other, 'beat')).clockMs).toBe(clockMs + 300)
    })

    test('I1 a host that joins right after the store’s clock was set back has all of its time', async () => {
      for (const byMs of [-1_000, -1_800]) {
        const { one, two } = await suite.group()
        const time = suite.time()
        await syncOk(one, A, 'join')
        for (let beat = 0; beat < 3; beat += 1) await passTime(one, time, CAP_MS, [A])
        const { clockMs } = await syncOk(one, A, 'beat')
        time.step(byMs)
        time.advance(CAP_MS - 150)
        await syncOk(two, B, 'join')
        time.advance(100)
        await syncOk(two, B, 'beat')
        // The other may prove by now that so much has passed since its last answer.
        const deadlineMs = (await two.read()).hosts.find(({ host }) => host === 'b')?.deadlineMs
        expect(deadlineMs).toBeGreaterThanOrEqual(clockMs + CAP_MS - 50 + TTL_MS)
        time.step(-byMs)
      }
    })

    test('I1 a host that joins while the store’s clock stands still has all of its time', async () => {
      const { one, two } = await suite.group()
      await syncOk(two, B, 'join')
      suite.time().step(-3_600_000)
      suite.time().advance(CAP_MS - 100)
      await syncOk(one, A, 'join')
      let livedMs = 0
      while ((await two.read()).hosts.length === 2 && livedMs < 4 * TTL_MS) {
        await passTime(two, suite.time(), 100, [B])
        livedMs += 100
      }
      expect(livedMs).toBeGreaterThanOrEqual(TTL_MS)
      expect(livedMs).toBeLessThanOrEqual(TTL_MS + CAP_MS)
      suite.time().step(3_600_000)
    })

    test('a store that was away expires nobody, however many hosts tell of the time', async () => {
      const { one, two } = await suite.group()
      const names = ['c', 'd', 'e', 'f', 'g'].map((host) => identity(host))
      await syncOk(one, A, 'join')
      const groups = new Map(names.map((who) => [who, observingGroup(two, suite.time())]))
      for (const [who, group] of groups) await syncOk(group, who, 'join')
      suite.time().advance(10 * TTL_MS)
      for (const [who, group] of groups) await syncOk(group, who, 'beat')
      expect((await syncOk(one, A, 'beat')).kind).toBe('ok')
      expect((await one.read()).hosts).toHaveLength(6)
    })

    test('the earliest deadline among the others comes with each beat', async () => {
      const { one, two } = await suite.group()
      expect((await syncOk(one, A, 'join')).nextDeadlineInMs).toBeUndefined()
      await syncOk(two, B, 'join')
      suite.time().advance(500)
      await syncOk(two, identity('c'), 'join')
      suite.time().advance(100)
      // That of b, which joined first. Who joins has a heartbeat more, for it cannot say what passed before.
      expect((await syncOk(one, A, 'beat')).nextDeadlineInMs).toBe(TTL_MS + CAP_MS - 600)
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

    test('a plan that rebalances takes the place of a current one, once for each membership version', async () => {
      const { one, two } = await suite.group()
      const [lease] = await one.create(newLeases(4))
      await syncOk(one, A, 'join')
      const { membershipVersion } = await syncOk(two, B, 'join')
      const to = (host: string): ReadonlyMap<string, string> => new Map([[lease!.id, host]])
      await one.plan({ membershipVersion, targets: to('a') })
      const outcomes = await Promise.all([
        one.plan({ membershipVersion, targets: to('b'), rebalances: true }),
        two.plan({ membershipVersion, targets: to('b'), rebalances: true }),
      ])
      expect(outcomes.toSorted()).toEqual([false, true])
      const after = await two.read()
      expect(after.membershipVersion).toBe(membershipVersion + 1)
      expect(after.planVersion).toBe(membershipVersion + 1)
      expect(after.leases.find(({ id }) => id === lease!.id)?.target).toBe('b')
      expect(await one.plan({ membershipVersion, targets: to('a') })).toBe(false)
      await syncOk(one, A, 'leave')
      const left = await syncOk(two, B, 'beat')
      const request = { membershipVersion: left.membershipVersion, targets: to('b') }
      expect(await two.plan({ ...request, rebalances: true })).toBe(true)
      // The plan that was there was older: this one is for the membership as it is.
      expect((await two.read()).planVersion).toBe(left.membershipVersion)
    })

    test('a load is kept with the session, and no change of membership', async () => {
      const { one, two } = await suite.group()
      const profile = { ...PROFILE, balanceBy: 'load' as const }
      const { membershipVersion } = await syncOk(one, A, 'join', { profile })
      for (const load of ['0.1 1b=2', '', undefined, '7']) {
        const beaten = await syncOk(one, A, 'beat', { profile: { ...profile, load } })
        expect(beaten.membershipVersion).toBe(membershipVersion)
        expect((await two.read()).hosts[0]?.profile.load).toBe(load)
      }
      const other = await syncOk(one, A, 'beat', { profile: { ...profile, weight: 2, load: '7' } })
      expect(other.membershipVersion).toBe(membershipVersion + 1)
    })

    test('PH-14 a host of a later release may say another balance: it is kept, and damages nothing', async () => {
      const { one, two } = await suite.group()
      // What only a later release knows.
      const profile = { ...PROFILE, balanceBy: 'later' as 'load' }
      const { membershipVersion } = await syncOk(one, A, 'join', { profile })
      const joined = await syncOk(two, B, 'join')
      expect(joined.membershipVersion).toBe(membershipVersion + 1)
      expect((await two.read()).hosts[0]?.profile).toMatchObject({ balanceBy: 'later' })
      const beaten = await syncOk(one, A, 'beat', { profile })
      expect(beaten.membershipVersion).toBe(joined.membershipVersion)
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
