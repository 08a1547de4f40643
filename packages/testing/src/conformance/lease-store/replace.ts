import { describe, expect, test } from 'vitest'
import type { AcquiredLease, LeaseHint } from '@tidemark/contracts'
import {
  CAP_MS,
  heldOf,
  identity,
  joinAndPlan,
  ownedGroup,
  passTime,
  piecesOf,
  position,
  syncOk,
  TTL_MS,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const A2 = identity('a', 'a-2')
const B = identity('b')

function leasesOf(reply: readonly AcquiredLease[] | 'lost'): readonly AcquiredLease[] {
  if (reply === 'lost') throw new Error('the leases were owned')
  return reply
}

export function describeReplace(suite: LeaseStoreSuite): void {
  describe('replace', () => {
    test('LE-10 a lease is replaced by its children at the given position, owned at once, above its epoch', async () => {
      const { one, two } = await suite.group()
      const [parent, other] = await ownedGroup(one, A, 2)
      if (parent === undefined || other === undefined) throw new Error('two leases were acquired')
      const before = await two.read()
      const next = piecesOf([parent], 2, 7)
      const children = leasesOf(await one.replace({ ...A, old: [heldOf(parent)], next }))
      expect(children.map(({ lease }) => lease.range)).toEqual(next.map(({ range }) => range))
      for (const { epoch, lease } of children) {
        expect(epoch).toBeGreaterThan(parent.epoch)
        expect(lease).toMatchObject({ owner: A, epoch, checkpoint: position(7), target: 'a' })
      }
      const after = await two.read()
      expect(after.leases.map(({ id }) => id)).toEqual(
        [...children.map(({ leaseId }) => leaseId), other.leaseId].toSorted(),
      )
      expect(after.membershipVersion).toBe(before.membershipVersion + 1)
      expect(after.leases.find(({ id }) => id === other.leaseId)).toEqual(
        before.leases.find(({ id }) => id === other.leaseId),
      )
      const checkpoints = children.map((child) => ({ ...heldOf(child), checkpoint: position(8) }))
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['stored', 'stored'])
      const stale = [{ ...heldOf(parent), checkpoint: position(9) }]
      expect(await one.checkpoint({ ...A, checkpoints: stale })).toEqual(['lost'])
    })

    test('LE-10 repeated after a lost reply it answers with the new leases as they are', async () => {
      const { one, two } = await suite.group()
      const [parent] = await ownedGroup(one, A, 2)
      if (parent === undefined) throw new Error('leases were acquired')
      const request = { ...A, old: [heldOf(parent)], next: piecesOf([parent], 3, 4) }
      const first = leasesOf(await one.replace(request))
      const checkpoints = first.map((child) => ({ ...heldOf(child), checkpoint: position(6) }))
      await one.checkpoint({ ...A, checkpoints })
      const before = await two.read()
      const again = leasesOf(await two.replace(request))
      expect(again.map(heldOf)).toEqual(first.map(heldOf))
      for (const { lease } of again) expect(lease.checkpoint).toEqual(position(6))
      expect(await two.read()).toEqual(before)
    })

    test('LE-10 LE-11 who does not own every old lease at its epoch changes nothing', async () => {
      const { one, two } = await suite.group()
      const [first, second] = await ownedGroup(one, A, 2)
      if (first === undefined || second === undefined) throw new Error('two leases were acquired')
      const next = piecesOf([first, second], 3, 9)
      const before = await one.read()
      for (const old of [
        [heldOf(first), { ...heldOf(second), epoch: second.epoch + 1 }],
        [{ ...heldOf(first), epoch: first.epoch - 1 }, heldOf(second)],
      ]) {
        expect(await one.replace({ ...A, old, next })).toBe('lost')
      }
      const old = [heldOf(first), heldOf(second)]
      expect(await two.replace({ ...B, old, next })).toBe('lost')
      expect(await two.replace({ ...A2, old, next })).toBe('lost')
      expect(await two.read()).toEqual(before)
      await one.release({ ...A, releases: [heldOf(second)] })
      expect(await one.replace({ ...A, old, next })).toBe('lost')
      expect((await two.read()).leases).toHaveLength(2)
    })

    test('LE-10 a host that replaced and died: others take the new leases, and its repeat is refused', async () => {
      const { one, two } = await suite.group()
      const [parent] = await ownedGroup(one, A, 1)
      if (parent === undefined) throw new Error('a lease was acquired')
      const request = { ...A, old: [heldOf(parent)], next: piecesOf([parent], 2, 3) }
      const children = leasesOf(await one.replace(request))
      await syncOk(two, B, 'join')
      await passTime(two, suite.time(), TTL_MS + CAP_MS, [B])
      const b2 = identity('b', 'b-2')
      const leaseIds = children.map(({ leaseId }) => leaseId)
      await joinAndPlan(two, b2, leaseIds)
      const taken = await two.acquire({ ...b2, leaseIds })
      expect(taken.map(({ lease }) => lease.checkpoint)).toEqual([position(3), position(3)])
      for (const { epoch } of taken) expect(epoch).toBeGreaterThan(children[0]?.epoch ?? Infinity)
      expect(await one.replace(request)).toBe('lost')
    })

    test('LE-10 neighbours are joined at one position; the target that both had stays', async () => {
      const { one, two } = await suite.group()
      const acquired = await ownedGroup(one, A, 4)
      const sorted = acquired.toSorted((a, b) =>
        a.lease.range.minInclusive < b.lease.range.minInclusive ? -1 : 1,
      )
      const pair = sorted.slice(1, 3)
      const next = piecesOf(pair, 1, 5)
      const [joined] = leasesOf(await one.replace({ ...A, old: pair.map(heldOf), next }))
      expect(joined?.lease).toMatchObject({ checkpoint: position(5), target: 'a', owner: A })
      const { leases } = await two.read()
      expect(leases).toHaveLength(3)
      for (const { epoch } of pair) expect(joined?.epoch).toBeGreaterThan(epoch)
    })

    test('I2 a child does not begin below what is stored for its parent', async () => {
      const { one } = await suite.group()
      const [parent] = await ownedGroup(one, A, 1)
      if (parent === undefined) throw new Error('a lease was acquired')
      await one.checkpoint({ ...A, checkpoints: [{ ...heldOf(parent), checkpoint: position(12) }] })
      const [low, high] = piecesOf([parent], 2, 11)
      if (low === undefined || high === undefined) throw new Error('two pieces')
      const next = [low, { ...high, checkpoint: position(13) }]
      const children = leasesOf(await one.replace({ ...A, old: [heldOf(parent)], next }))
      const byMin = children.toSorted((a, b) =>
        a.lease.range.minInclusive < b.lease.range.minInclusive ? -1 : 1,
      )
      expect(byMin.map(({ lease }) => lease.checkpoint)).toEqual([position(12), position(13)])
    })

    test('TTL-15 a lease replaced by itself alone begins anew at a lower position under a new epoch', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 2)
      if (lease === undefined) throw new Error('leases were acquired')
      await one.checkpoint({ ...A, checkpoints: [{ ...heldOf(lease), checkpoint: position(12) }] })
      const request = {
        ...A,
        old: [heldOf(lease)],
        next: [{ range: lease.lease.range, checkpoint: position(2) }],
      }
      const etag = (await two.read()).leases.find(({ id }) => id === lease.leaseId)?.etag
      const [again] = leasesOf(await one.replace(request))
      expect(again?.leaseId).toBe(lease.leaseId)
      expect(again?.epoch).toBeGreaterThan(lease.epoch)
      expect(again?.lease.checkpoint).toEqual(position(2))
      expect(again?.lease.etag).not.toBe(etag)
      const late = [{ ...heldOf(lease), checkpoint: position(13) }]
      expect(await one.checkpoint({ ...A, checkpoints: late })).toEqual(['lost'])
      const checkpoints = [{ ...heldOf(again ?? lease), checkpoint: position(3) }]
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['stored'])
      const repeated = leasesOf(await one.replace(request))
      expect(repeated.map(heldOf)).toEqual([again].flatMap((one_) => (one_ ? [heldOf(one_)] : [])))
      expect((await two.read()).leases).toHaveLength(2)
    })

    test('LE-11 epochs rise when a range is split and joined again, also with a clock set back', async () => {
      const { one } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      let present: readonly AcquiredLease[] = [lease]
      const etags = new Set([lease.lease.etag])
      suite.time().step(-5_000)
      for (let round = 1; round <= 4; round += 1) {
        const next = piecesOf(present, round % 2 === 1 ? 2 : 1, round)
        const epoch = Math.max(...present.map((old) => old.epoch))
        present = leasesOf(await one.replace({ ...A, old: present.map(heldOf), next }))
        for (const child of present) expect(child.epoch).toBeGreaterThan(epoch)
        if (present.length > 1) continue
        const etag = present[0]?.lease.etag ?? ''
        expect(etags).not.toContain(etag)
        etags.add(etag)
      }
      suite.time().advance(5_000)
      await one.discard('replaced')
      const [again] = await ownedGroup(one, A2, 1)
      expect(again?.epoch).toBeGreaterThan(present[0]?.epoch ?? Infinity)
    })

    test('what does not cover the same keys, or is too much for one step, is refused and loses nothing', async () => {
      const { one, two } = await suite.group()
      const acquired = await ownedGroup(one, A, 4)
      const [first, , third] = acquired.toSorted((a, b) =>
        a.lease.range.minInclusive < b.lease.range.minInclusive ? -1 : 1,
      )
      if (first === undefined || third === undefined) throw new Error('four leases were acquired')
      const before = await two.read()
      const halves = piecesOf([first], 2, 5)
      const whole = piecesOf([first], 1, 5)
      for (const { old, next } of [
        { old: [first], next: [] },
        { old: [], next: [] },
        { old: [first], next: halves.slice(1) },
        { old: [first], next: [...halves, ...whole] },
        { old: [first], next: piecesOf([third], 2, 5) },
        { old: [first, third], next: piecesOf([first, third], 1, 5) },
        { old: [first, first], next: whole },
        { old: [first], next: piecesOf([first], 64, 5) },
        { old: [{ leaseId: 'no range', epoch: 1 }], next: whole },
      ]) {
        const replacing = one.replace({ ...A, old: old.map(heldOf), next })
        await expect(replacing).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
      }
      expect(await two.read()).toEqual(before)
      const many = await one.replace({ ...A, old: [heldOf(first)], next: piecesOf([first], 63, 5) })
      expect(many).toHaveLength(63)
    })

    test('of a plan made before it and a replacement, the new leases are planned anew', async () => {
      const { one, two } = await suite.group()
      const [parent] = await ownedGroup(one, A, 1)
      if (parent === undefined) throw new Error('a lease was acquired')
      const { membershipVersion } = await syncOk(two, B, 'join')
      // B has read the old set, and plans for it only now.
      await one.replace({ ...A, old: [heldOf(parent)], next: piecesOf([parent], 2, 1) })
      const targets = new Map([[parent.leaseId, 'b']])
      expect(await two.plan({ membershipVersion, targets })).toBe(false)
      const after = await two.read()
      expect(after.planVersion).toBeLessThan(after.membershipVersion)
    })

    test('LE-10 of two that replace the same leases at once, each in its own way, one wins whole', async () => {
      const { one, two } = await suite.group()
      const acquired = await ownedGroup(one, A, 2)
      const old = acquired.map(heldOf)
      const [left, right] = await Promise.all([
        one.replace({ ...A, old, next: piecesOf(old, 3, 1) }),
        two.replace({ ...A, old, next: piecesOf(old, 5, 2) }),
      ])
      const winners = [left, right].filter((reply) => reply !== 'lost')
      expect(winners).toHaveLength(1)
      const { leases } = await one.read()
      expect(leases.map(({ id }) => id)).toEqual(
        leasesOf(winners[0] ?? 'lost').map(({ leaseId }) => leaseId),
      )
    })

    test.skipIf(suite.options.hints === false)(
      'LE-10 LE-12 a replacement wakes the other hosts',
      async () => {
        const { one, two } = await suite.group()
        const acquired = await ownedGroup(one, A, 1)
        let present: readonly AcquiredLease[] = acquired
        const woken = Promise.withResolvers<LeaseHint>()
        two.subscribe((hint) => {
          if (hint === 'membership') woken.resolve(hint)
        })
        let isWoken = false
        void woken.promise.then(() => (isWoken = true))
        // A subscription takes a moment, and hints may be lost: the cause is repeated.
        for (let round = 0; round < 400 && !isWoken; round += 1) {
          const next = piecesOf(present, 1 + ((round + 1) % 2), round)
          present = leasesOf(await one.replace({ ...A, old: present.map(heldOf), next }))
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        expect(isWoken).toBe(true)
      },
    )
  })
}
