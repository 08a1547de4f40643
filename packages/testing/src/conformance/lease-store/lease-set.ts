import { describe, expect, test } from 'vitest'
import { FULL_RANGE } from '@tidemark/contracts'
import {
  identity,
  idsOf,
  joinAndPlan,
  newLeases,
  ownedGroup,
  position,
  syncOk,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const B = identity('b')

export function describeLeaseSet(suite: LeaseStoreSuite): void {
  describe('lease set', () => {
    test('LE-1 a new lease is free, at its start position, with id, timestamp and etag', async () => {
      const { one, two } = await suite.group()
      const created = await one.create([{ range: FULL_RANGE, checkpoint: position(7) }])
      expect(created).toEqual([
        {
          id: '-FF',
          range: FULL_RANGE,
          owner: undefined,
          epoch: 0,
          checkpoint: position(7),
          target: undefined,
          timestampMs: suite.time().wallMs(),
          etag: expect.stringMatching(/./),
        },
      ])
      expect((await two.read()).leases).toEqual(created)
    })

    test('LE-11 a lease that is made anew with the epoch of its last owner gives a higher one, also with a clock that is behind', async () => {
      const { one, two } = await suite.group()
      const ahead = (suite.time().wallMs() + 3_600_000) * 1_000
      const [first, second] = newLeases(2)
      const created = await one.create([{ ...first!, epoch: ahead }, second!])
      expect(created.map(({ epoch, owner }) => ({ epoch, owner }))).toEqual([
        { epoch: ahead, owner: undefined },
        { epoch: 0, owner: undefined },
      ])
      expect((await two.read()).leases).toEqual(created)
      await joinAndPlan(one, A, idsOf(created))
      const acquired = await one.acquire({ ...A, leaseIds: idsOf(created) })
      expect(acquired.map(({ epoch }) => epoch)[0]).toBe(ahead + 1)
      expect(acquired.map(({ epoch }) => epoch)[1]).toBeLessThan(ahead)
    })

    test('LE-17 the first feed that claims a group is noted, over loss and pause, until it is replaced by name or discarded', async () => {
      const { one, two } = await suite.group()
      // A store need not keep it: nothing is checked then.
      if (one.claimFeed === undefined || two.claimFeed === undefined) return
      const orders = { rid: 'AAAAAIAAAAE=', name: 'shop/"orders" é' }
      const customers = { rid: 'AAAAAIAAAAI=', name: 'shop/customers' }
      expect((await one.read()).feed).toBeUndefined()
      const claims = await Promise.all([one.claimFeed(orders), two.claimFeed(customers)])
      const [noted] = claims
      expect(claims).toEqual([noted, noted])
      expect([orders, customers]).toContainEqual(noted)
      const other = noted?.rid === orders.rid ? customers : orders
      await one.create(newLeases(2).slice(1))
      await two.setPaused(true)
      await two.declareLost({ keys: [FULL_RANGE], generation: 'after' })
      expect((await two.read()).feed).toEqual(noted)
      expect(await two.claimFeed(other, { insteadOf: other.rid })).toEqual(noted)
      const { membershipVersion } = await one.read()
      expect(await two.claimFeed(other, { insteadOf: noted!.rid })).toEqual(other)
      expect(await one.read()).toMatchObject({
        feed: other,
        membershipVersion: membershipVersion + 1,
      })
      expect(await one.claimFeed(noted!)).toEqual(other)
      await one.discard('x')
      expect((await two.read()).feed).toBeUndefined()
      expect(await one.claimFeed(noted!)).toEqual(noted)
    })

    test('a set that covers its keys exactly once cannot be declared lost; one that does not goes as a whole', async () => {
      const { one, two } = await suite.group()
      const keys = [FULL_RANGE]
      expect(await one.declareLost({ keys, generation: 'never' })).toBe(false)
      const held = await ownedGroup(one, A, 4)
      const before = await one.read()
      expect(await two.declareLost({ keys, generation: 'never' })).toBe(false)
      expect(await two.read()).toEqual(before)
      await one.discard('x')
      await one.create(newLeases(4).slice(1))
      await joinAndPlan(one, A, idsOf(newLeases(4).slice(1)))
      const [first] = held
      const digest = { count: 0, epochSum: 0, lsnSum: 0 }
      expect(await syncOk(one, A, 'beat', { held: digest })).toMatchObject({ heldMatches: true })
      const judged = await syncOk(one, A, 'beat', { held: digest, keys })
      expect(judged).toMatchObject({ heldMatches: false })
      const outcomes = await Promise.all(
        [one, two].map((group, index) => group.declareLost({ keys, generation: `lost ${index}` })),
      )
      expect(new Set(outcomes)).toEqual(new Set([false, true]))
      const after = await one.read()
      expect(after).toMatchObject({ leases: [], generation: `lost ${outcomes.indexOf(true)}` })
      expect(after.hosts).toHaveLength(1)
      await two.create(newLeases(4))
      await joinAndPlan(two, A, idsOf(newLeases(4)))
      const [again] = await two.acquire({ ...A, leaseIds: [first!.leaseId] })
      expect(again!.epoch).toBeGreaterThan(first!.epoch)
    })

    test('I1 an owner in a set that was made anew is above every owner in the one that was lost', async () => {
      const { one } = await suite.group()
      const [, ...rest] = newLeases(4)
      await one.create(rest)
      const leaseIds = idsOf(rest)
      await joinAndPlan(one, A, leaseIds)
      const owned = new Map<string, number>()
      // The first one has had the most owners, and so the highest epoch.
      for (const [index, leaseId] of leaseIds.entries()) {
        for (let owners = index; owners < leaseIds.length; owners += 1) {
          const epoch = owned.get(leaseId)
          if (epoch !== undefined) await one.release({ ...A, releases: [{ leaseId, epoch }] })
          const [lease] = await one.acquire({ ...A, leaseIds: [leaseId] })
          owned.set(leaseId, lease!.epoch)
        }
      }
      expect(await one.declareLost({ keys: [FULL_RANGE], generation: 'next' })).toBe(true)
      await one.create(newLeases(4))
      await joinAndPlan(one, A, idsOf(newLeases(4)))
      const again = await one.acquire({ ...A, leaseIds })
      expect(again).toHaveLength(leaseIds.length)
      for (const { epoch } of again) expect(epoch).toBeGreaterThan(Math.max(...owned.values()))
    })

    test('LE-14 of hosts that create at once one wins, and all adopt its set', async () => {
      const { one, two } = await suite.group()
      const [first, second] = await Promise.all([
        one.create(newLeases(150, 1)),
        two.create(newLeases(40, 2)),
      ])
      expect(first).toEqual(second)
      expect([40, 150]).toContain(first.length)
      expect((await one.read()).leases).toEqual(first)
      expect(await one.create(newLeases(5, 9))).toEqual(first)
    })

    test('an empty set creates nothing, and overlapping leases are refused and lose nothing', async () => {
      const { one } = await suite.group()
      expect(await one.create([])).toEqual([])
      const [half] = newLeases(2)
      const overlapping = [half?.range ?? FULL_RANGE, FULL_RANGE].map((range) => ({
        range,
        checkpoint: position(0),
      }))
      await expect(one.create(overlapping)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
      expect((await one.read()).leases).toEqual([])
      expect(await one.create(newLeases(2))).toHaveLength(2)
    })

    test('readers see all of a set or nothing of it while it is created', async () => {
      const { one, two } = await suite.group()
      const creating = one.create(newLeases(350))
      let created = false
      void creating.then(() => {
        created = true
      })
      const sizes = new Set<number>()
      while (!created) sizes.add((await two.read()).leases.length)
      await creating
      sizes.add((await two.read()).leases.length)
      sizes.delete(0)
      expect([...sizes]).toEqual([350])
    })

    test('LE-13 1,000 leases are created, planned, acquired, checkpointed, released and read', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 1_000)
      const checkpoints = held.map(({ leaseId, epoch }, index) => ({
        leaseId,
        epoch,
        checkpoint: position(index),
      }))
      const outcomes = await one.checkpoint({ ...A, checkpoints })
      expect(new Set(outcomes)).toEqual(new Set(['stored']))
      expect(outcomes).toHaveLength(1_000)
      const { leases } = await two.read()
      expect(leases).toHaveLength(1_000)
      expect(leases.map(({ id }) => id)).toEqual(leases.map(({ id }) => id).toSorted())
      expect(new Set(leases.map(({ owner }) => owner?.host))).toEqual(new Set(['a']))
      const positions = new Map(leases.map(({ id, checkpoint }) => [id, checkpoint]))
      for (const { leaseId, checkpoint } of checkpoints) {
        expect(positions.get(leaseId)).toEqual(checkpoint)
      }
      const released = await one.release({ ...A, releases: held })
      expect(new Set(released)).toEqual(new Set(['released']))
      expect((await two.read()).leases.every(({ owner }) => owner === undefined)).toBe(true)
    })

    test('LE-1 groups do not know of each other, and are listed while they have leases', async () => {
      const [left, right] = [await suite.group(), await suite.group()]
      await ownedGroup(left.one, A, 2)
      expect((await right.one.read()).leases).toEqual([])
      expect((await right.one.read()).hosts).toEqual([])
      const listed = await suite.other().listGroups()
      expect(listed).toContain(left.name)
      expect(listed).not.toContain(right.name)
      await right.one.create(newLeases(1))
      expect(await suite.store().listGroups()).toContain(right.name)
    })

    test.each(['', '$groups', 'a\nb', 'x'.repeat(201), '\ud800'])(
      'the group name %j is refused',
      async (name) => {
        await expect(suite.store().openGroup(name)).rejects.toMatchObject({
          code: 'ERR_INVALID_OPTION',
        })
      },
    )
  })

  describe('discard', () => {
    test('LE-8 hosts that start together discard once', async () => {
      const { one, two } = await suite.group()
      await one.create(newLeases(3, 5))
      const results = await Promise.all([one.discard('token 1'), two.discard('token 1')])
      expect(results.toSorted()).toEqual([false, true])
      expect((await two.read()).leases).toEqual([])
      await one.create(newLeases(2))
      expect(await two.discard('token 1')).toBe(false)
      expect((await two.read()).leases).toHaveLength(2)
      expect(await two.discard('token 2')).toBe(true)
      expect((await one.read()).leases).toEqual([])
    })

    test('LE-8 the running host loses its leases, and later epochs are above all earlier ones', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 130)
      const highest = Math.max(...held.map(({ epoch }) => epoch))
      await two.discard('again')
      const checkpoints = held.map(({ leaseId, epoch }) => ({
        leaseId,
        epoch,
        checkpoint: position(9),
      }))
      expect(new Set(await one.checkpoint({ ...A, checkpoints }))).toEqual(new Set(['lost']))
      await two.create(newLeases(130))
      expect(new Set(await one.checkpoint({ ...A, checkpoints }))).toEqual(new Set(['lost']))
      expect(new Set(await one.release({ ...A, releases: held }))).toEqual(new Set(['lost']))
      // The clock set back does not bring an old epoch back.
      suite.time().step(-60_000)
      const leaseIds = idsOf(newLeases(130))
      await joinAndPlan(two, B, leaseIds)
      const next = await two.acquire({ ...B, leaseIds })
      suite.time().advance(60_000)
      expect(next).toHaveLength(130)
      for (const { epoch } of next) expect(epoch).toBeGreaterThan(highest)
    })

    test('hosts see by the membership version that the set they planned for is gone', async () => {
      const { one, two } = await suite.group()
      await ownedGroup(one, A, 2)
      const before = await syncOk(one, A, 'beat')
      await two.discard('x')
      await two.create(newLeases(2))
      const after = await syncOk(one, A, 'beat')
      expect(after.membershipVersion).toBeGreaterThan(before.membershipVersion)
      const targets = new Map(idsOf(newLeases(2)).map((leaseId) => [leaseId, 'a']))
      const { membershipVersion } = after
      expect(await one.plan({ membershipVersion, targets })).toBe(true)
      expect((await one.read()).leases.map(({ target }) => target)).toEqual(['a', 'a'])
    })

    test('a set created again has none of the old targets and owners', async () => {
      const { one, two } = await suite.group()
      const before = await ownedGroup(one, A, 2)
      await two.discard('x')
      const created = await two.create(newLeases(2, 3))
      expect(created).toMatchObject([
        { owner: undefined, target: undefined, epoch: 0, checkpoint: position(3) },
        { owner: undefined, target: undefined, epoch: 0, checkpoint: position(3) },
      ])
      const etags = new Set(before.map(({ lease }) => lease.etag))
      for (const { etag } of created) expect(etags).not.toContain(etag)
    })
  })
}
