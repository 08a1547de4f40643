import { describe, expect, test } from 'vitest'
import { FULL_RANGE, lsn, type Checkpoint, type LeaseGroup } from '@tidemark/contracts'
import {
  continuationOf,
  heldOf,
  identity,
  joinAndPlan,
  newLeases,
  ownedGroup,
  piecesOf,
  position,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const B = identity('b')
const TWICE = { count: 2, size: 100 }
const THRICE = { count: 3, size: 1, first: '0000000000000006-00ff' }
const STRANGE = { count: 1, size: 0, first: ',\u00017%2C"ü" \u{1f30a}' }

/** Texts that look like what a store may put together of a continuation and attempts. */
const CONTINUATIONS = [
  '',
  ',',
  '|',
  '1,2',
  '1,2|x',
  '~',
  '#1,2#x',
  '\\u0001',
  '\u0001',
  '\u00011,2',
]

async function stored(group: LeaseGroup): Promise<readonly Checkpoint[]> {
  return (await group.read()).leases.map(({ checkpoint }) => checkpoint)
}

export function describeAttempts(suite: LeaseStoreSuite): void {
  describe('attempts', () => {
    test('PH-7 attempts are stored with the checkpoint, changed and cleared at an equal LSN, and the next owner finds them', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      const store = (checkpoint: Checkpoint): Promise<readonly string[]> =>
        one.checkpoint({ ...A, checkpoints: [{ ...heldOf(lease), checkpoint }] })
      for (const checkpoint of [
        position(5, { count: 1, size: 100 }),
        position(5, TWICE),
        position(5),
        position(5, STRANGE),
        position(5, THRICE),
      ]) {
        expect(await store(checkpoint)).toEqual(['stored'])
        expect(await stored(two)).toEqual([checkpoint])
      }
      expect(await store(position(4, TWICE))).toEqual(['regress'])
      expect(await stored(two)).toEqual([position(5, THRICE)])
      await one.release({ ...A, releases: [heldOf(lease)] })
      await joinAndPlan(two, B, [lease.leaseId])
      const [taken] = await two.acquire({ ...B, leaseIds: [lease.leaseId] })
      expect(taken?.lease.checkpoint).toEqual(position(5, THRICE))
      const { unknownToHost } = await two.reconcile({ ...B, held: [] })
      expect(unknownToHost.map(({ checkpoint }) => checkpoint)).toEqual([position(5, THRICE)])
    })

    test('PH-7 progress without attempts leaves none behind', async () => {
      const { one, two } = await suite.group()
      const [lease] = await ownedGroup(one, A, 1)
      if (lease === undefined) throw new Error('a lease was acquired')
      for (const checkpoint of [position(5, TWICE), position(6)]) {
        await one.checkpoint({ ...A, checkpoints: [{ ...heldOf(lease), checkpoint }] })
      }
      const [checkpoint] = await stored(two)
      expect(checkpoint).toEqual(position(6))
      expect(checkpoint?.attempts).toBeUndefined()
    })

    test('PH-7 a release keeps the attempts that are stored, or stores those that it brings', async () => {
      const { one, two } = await suite.group()
      const held = await ownedGroup(one, A, 3)
      const checkpoints = held.map((lease) => ({
        ...heldOf(lease),
        checkpoint: position(5, TWICE),
      }))
      await one.checkpoint({ ...A, checkpoints })
      const [first, second, third] = held.map(heldOf)
      if (!first || !second || !third) throw new Error('three leases were acquired')
      const releases = [
        first,
        { ...second, checkpoint: position(5, THRICE) },
        { ...third, checkpoint: position(4, THRICE) },
      ]
      expect(await one.release({ ...A, releases })).toEqual(['released', 'released', 'released'])
      const byId = new Map((await two.read()).leases.map(({ id, checkpoint }) => [id, checkpoint]))
      expect(byId.get(first.leaseId)).toEqual(position(5, TWICE))
      expect(byId.get(second.leaseId)).toEqual(position(5, THRICE))
      expect(byId.get(third.leaseId)).toEqual(position(5, TWICE))
    })

    test('PH-7 LE-10 a new set, a split and an override keep the attempts that they are given, or those of the parent', async () => {
      const { one, two } = await suite.group()
      const set = newLeases(2).map(({ range }) => ({ range, checkpoint: position(3, TWICE) }))
      const created = await one.create(set)
      expect(created.map(({ checkpoint }) => checkpoint)).toEqual(
        set.map((new_) => new_.checkpoint),
      )
      const leaseIds = created.map(({ id }) => id)
      await joinAndPlan(one, A, leaseIds)
      const [parent, other] = await one.acquire({ ...A, leaseIds })
      if (parent === undefined || other === undefined) throw new Error('two leases were acquired')
      expect(parent.lease.checkpoint).toEqual(position(3, TWICE))
      // Below the parent's position, which they get with its attempts; and above it.
      const [low, high] = piecesOf([parent], 2, 2)
      if (low === undefined || high === undefined) throw new Error('two pieces')
      const next = [low, { ...high, checkpoint: position(4, THRICE) }]
      const children = await one.replace({ ...A, old: [heldOf(parent)], next })
      if (children === 'lost') throw new Error('the parent was owned')
      const byMin = children.toSorted((a, b) =>
        a.lease.range.minInclusive < b.lease.range.minInclusive ? -1 : 1,
      )
      expect(byMin.map(({ lease }) => lease.checkpoint)).toEqual([
        position(3, TWICE),
        position(4, THRICE),
      ])
      const [back] = piecesOf([other], 1, 0)
      if (back === undefined) throw new Error('one piece')
      const overridden = await two.override({
        old: [heldOf(other)],
        next: [{ ...back, checkpoint: position(1, THRICE) }],
      })
      expect(overridden).toMatchObject([{ checkpoint: position(1, THRICE) }])
      expect(await stored(one)).toEqual(
        expect.arrayContaining([position(3, TWICE), position(4, THRICE), position(1, THRICE)]),
      )
    })

    test.each(CONTINUATIONS)(
      'the continuation %j comes back as it was given, with attempts and without',
      async (text) => {
        const { one, two } = await suite.group()
        const at = (attempts: Partial<Checkpoint>): Checkpoint => ({
          continuation: continuationOf(text),
          lsn: lsn(1),
          ...attempts,
        })
        await one.create([{ range: FULL_RANGE, checkpoint: at({}) }])
        expect(await stored(two)).toEqual([at({})])
        await joinAndPlan(one, A, ['-FF'])
        const [lease] = await one.acquire({ ...A, leaseIds: ['-FF'] })
        if (lease === undefined) throw new Error('the lease was acquired')
        expect(lease.lease.checkpoint).toEqual(at({}))
        for (const checkpoint of [at({ attempts: TWICE }), at({}), at({ attempts: THRICE })]) {
          await one.checkpoint({ ...A, checkpoints: [{ ...heldOf(lease), checkpoint }] })
          expect(await stored(two)).toEqual([checkpoint])
        }
      },
    )
  })
}
