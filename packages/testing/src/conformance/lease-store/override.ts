import { describe, expect, test } from 'vitest'
import type { Lease, LeaseHint } from '@tidemark/contracts'
import {
  heldOf,
  identity,
  joinAndPlan,
  newLeases,
  ownedGroup,
  piecesOf,
  position,
  syncOk,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const B = identity('b')

function freed(reply: readonly Lease[] | 'changed'): readonly Lease[] {
  if (reply === 'changed') throw new Error('the leases were there at these epochs')
  return reply
}

export function describeOverride(suite: LeaseStoreSuite): void {
  describe('override', () => {
    test('a lease is put exactly where the operator says, also lower; nobody owns it and no plan names it', async () => {
      const { one, two } = await suite.group()
      const [lease, other] = await ownedGroup(one, A, 2)
      if (lease === undefined || other === undefined) throw new Error('two leases were acquired')
      await one.checkpoint({ ...A, checkpoints: [{ ...heldOf(lease), checkpoint: position(12) }] })
      const before = await two.read()
      const etag = before.leases.find(({ id }) => id === lease.leaseId)?.etag
      const next = piecesOf([lease], 1, 2)
      const [set] = freed(await two.override({ old: [heldOf(lease)], next }))
      expect(set).toMatchObject({
        id: lease.leaseId,
        range: lease.lease.range,
        checkpoint: position(2),
        timestampMs: suite.time().wallMs(),
      })
      expect(set?.owner).toBeUndefined()
      expect(set?.target).toBeUndefined()
      expect(set?.epoch).toBeGreaterThan(lease.epoch)
      expect(set?.etag).not.toBe(etag)
      const after = await one.read()
      expect(after.leases.find(({ id }) => id === lease.leaseId)).toEqual(set)
      expect(after.leases.find(({ id }) => id === other.leaseId)).toEqual(
        before.leases.find(({ id }) => id === other.leaseId),
      )
      expect(after.membershipVersion).toBe(before.membershipVersion + 1)
      expect(after.hosts).toEqual(before.hosts)
    })

    test('LE-11 who worked on the old lease is refused from then on: checkpoint, release, replace', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      const old = [heldOf(lease)]
      await two.override({ old, next: piecesOf([lease], 1, 2) })
      const before = await two.read()
      const checkpoints = [{ ...heldOf(lease), checkpoint: position(20) }]
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
      expect(await one.release({ ...A, releases: checkpoints })).toEqual(['lost'])
      expect(await one.replace({ ...A, old, next: piecesOf([lease], 2, 20) })).toBe('lost')
      expect(await one.replace({ ...A, old, next: piecesOf([lease], 1, 20) })).toBe('lost')
      const { lost } = await one.reconcile({ ...A, held: [{ ...heldOf(lease), lsn: 20 }] })
      expect(lost).toEqual([lease.leaseId])
      // Not even the host that had it may take it before somebody planned for it.
      expect(await one.acquire({ ...A, leaseIds: [lease.leaseId] })).toEqual([])
      expect(await two.read()).toEqual(before)
      await joinAndPlan(two, B, [lease.leaseId])
      const [taken] = await two.acquire({ ...B, leaseIds: [lease.leaseId] })
      expect(taken?.lease.checkpoint).toEqual(position(2))
      expect(taken?.epoch).toBeGreaterThan(before.leases[0]?.epoch ?? Infinity)
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
    })

    test('leases of several owners and of none are put back together, or cut, in one step', async () => {
      const { one, two } = await suite.group()
      const created = await one.create(newLeases(3, 5))
      const [first, second, third] = created.toSorted((a, b) =>
        a.range.minInclusive < b.range.minInclusive ? -1 : 1,
      )
      if (!first || !second || !third) throw new Error('three leases were created')
      await joinAndPlan(one, A, [first.id])
      const [ofA] = await one.acquire({ ...A, leaseIds: [first.id] })
      await joinAndPlan(two, B, [second.id])
      const [ofB] = await two.acquire({ ...B, leaseIds: [second.id] })
      if (ofA === undefined || ofB === undefined) throw new Error('each host acquired a lease')
      const old = [heldOf(ofA), heldOf(ofB), { leaseId: third.id, epoch: 0 }]
      const next = piecesOf(old, 2, 1)
      const set = freed(await one.override({ old, next }))
      expect(set.map(({ range }) => range)).toEqual(next.map(({ range }) => range))
      for (const lease of set) {
        expect(lease.owner).toBeUndefined()
        expect(lease.target).toBeUndefined()
        expect(lease.checkpoint).toEqual(position(1))
        expect(lease.epoch).toBeGreaterThan(Math.max(ofA.epoch, ofB.epoch))
      }
      expect((await two.read()).leases).toEqual(set)
    })

    test('when a lease is not there at that epoch, nothing changes', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 2)
      const [first, second] = held
      if (first === undefined || second === undefined) throw new Error('two leases were acquired')
      const old = held.map(heldOf)
      const before = await two.read()
      for (const changed of [
        [{ ...heldOf(first), epoch: first.epoch - 1 }, heldOf(second)],
        [heldOf(first), { ...heldOf(second), epoch: second.epoch + 1 }],
        [heldOf(first), { ...heldOf(second), epoch: 0 }],
      ]) {
        expect(await two.override({ old: changed, next: piecesOf(old, 1, 9) })).toBe('changed')
      }
      const gone = [{ leaseId: `${first.lease.range.minInclusive}-01`, epoch: first.epoch }]
      expect(await two.override({ old: gone, next: piecesOf(gone, 1, 9) })).toBe('changed')
      expect(await two.read()).toEqual(before)
      // A repeat of what was done before is refused too: the epochs have risen.
      freed(await two.override({ old, next: piecesOf(old, 1, 9) }))
      const after = await two.read()
      expect(await two.override({ old, next: piecesOf(old, 1, 3) })).toBe('changed')
      expect(await two.read()).toEqual(after)
    })

    test('what does not cover the same keys is refused and loses nothing', async () => {
      const { one, two } = await suite.group()
      const [first, second] = await ownedGroup(one, A, 2)
      if (first === undefined || second === undefined) throw new Error('two leases were acquired')
      const before = await two.read()
      for (const { old, next } of [
        { old: [], next: [] },
        { old: [first], next: [] },
        { old: [first], next: piecesOf([first], 2, 5).slice(1) },
        { old: [first], next: piecesOf([second], 1, 5) },
        { old: [first, first], next: piecesOf([first], 1, 5) },
        { old: [first], next: piecesOf([first], 64, 5) },
      ]) {
        const overriding = two.override({ old: old.map(heldOf), next })
        await expect(overriding).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
      }
      expect(await two.read()).toEqual(before)
    })

    test('LE-11 epochs rise with a clock set back, and after a discard', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      suite.time().step(-5_000)
      let present: { readonly leaseId: string; readonly epoch: number } = heldOf(lease)
      for (let round = 1; round <= 3; round += 1) {
        const next = piecesOf([present], 1, round)
        const [set] = freed(await two.override({ old: [present], next }))
        if (set === undefined) throw new Error('one lease')
        expect(set.epoch).toBeGreaterThan(present.epoch)
        present = { leaseId: set.id, epoch: set.epoch }
      }
      await one.discard('overridden')
      await one.create(newLeases(1))
      const [set] = freed(
        await two.override({
          old: [{ leaseId: present.leaseId, epoch: 0 }],
          next: piecesOf([present], 1, 4),
        }),
      )
      suite.time().advance(5_000)
      expect(set?.epoch).toBeGreaterThan(present.epoch)
    })

    test('a plan made before it does not come into force', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      const { membershipVersion } = await syncOk(two, B, 'join')
      await one.override({ old: [heldOf(lease)], next: piecesOf([lease], 1, 1) })
      const targets = new Map([[lease.leaseId, 'b']])
      expect(await two.plan({ membershipVersion, targets })).toBe(false)
      const after = await two.read()
      expect(after.planVersion).toBeLessThan(after.membershipVersion)
      expect(after.leases[0]?.target).toBeUndefined()
    })

    test('of an override and a replacement at once one wins whole', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 2)
      const old = held.map(heldOf)
      const [replaced, overridden] = await Promise.all([
        one.replace({ ...A, old, next: piecesOf(old, 3, 1) }),
        two.override({ old, next: piecesOf(old, 5, 2) }),
      ])
      expect([replaced === 'lost', overridden === 'changed'].filter(Boolean)).toHaveLength(1)
      const { leases } = await one.read()
      expect(leases).toHaveLength(replaced === 'lost' ? 5 : 3)
      const owned = leases.filter(({ owner }) => owner !== undefined)
      expect(owned).toHaveLength(replaced === 'lost' ? 0 : 3)
    })

    test.skipIf(suite.options.hints === false)('LE-12 an override wakes the hosts', async () => {
      const { one, two } = await suite.group()
      const [lease] = await one.create(newLeases(1))
      if (lease === undefined) throw new Error('a lease was created')
      let present: { readonly leaseId: string; readonly epoch: number } = {
        leaseId: lease.id,
        epoch: 0,
      }
      const hints = new Set<LeaseHint>()
      one.subscribe((hint) => hints.add(hint))
      // A subscription takes a moment, and hints may be lost: the cause is repeated.
      await expect
        .poll(
          async () => {
            const next = piecesOf([present], 1, 1)
            const [set] = freed(await two.override({ old: [present], next }))
            present = { leaseId: set?.id ?? '', epoch: set?.epoch ?? 0 }
            return hints.has('membership')
          },
          { timeout: 20_000, interval: 5 },
        )
        .toBe(true)
    })
  })
}
