import { describe, expect, test } from 'vitest'
import {
  CAP_MS,
  heldOf,
  identity,
  idsOf,
  joinAndPlan,
  newLeases,
  ownedGroup,
  passTime,
  position,
  syncOk,
  TTL_MS,
  type LeaseStoreSuite,
} from './fixtures.ts'

const A = identity('a')
const A2 = identity('a', 'a-2')
const B = identity('b')

export function describeOwnership(suite: LeaseStoreSuite): void {
  describe('acquire', () => {
    test('a free lease goes to its target, with an epoch not below the store’s time in µs', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      expect(held?.epoch).toBe(suite.time().wallMs() * 1000)
      const { leases } = await two.read()
      expect(leases).toMatchObject([{ owner: A, epoch: held?.epoch, target: 'a' }])
      expect(leases[0]).toEqual(held?.lease)
    })

    test('leases of other targets, unknown leases and callers without a session get nothing', async () => {
      const { one, two } = await suite.group()
      const leaseIds = idsOf(await one.create(newLeases(2)))
      await syncOk(two, B, 'join')
      await joinAndPlan(one, A, leaseIds)
      expect(await two.acquire({ ...B, leaseIds })).toEqual([])
      expect(await one.acquire({ ...A2, leaseIds })).toEqual([])
      expect(await one.acquire({ ...identity('c'), leaseIds })).toEqual([])
      expect(await one.acquire({ ...A, leaseIds: ['AA-BB'] })).toEqual([])
      expect(await one.acquire({ ...A, leaseIds: [] })).toEqual([])
      expect((await one.read()).leases.every(({ owner }) => owner === undefined)).toBe(true)
    })

    test('LE-12 a lease of a live owner is never taken, although the plan gives it to another', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const leaseIds = [held?.leaseId ?? '']
      await joinAndPlan(two, B, leaseIds)
      expect(await two.acquire({ ...B, leaseIds })).toEqual([])
      expect(await one.acquire({ ...A, leaseIds })).toMatchObject([{ epoch: held?.epoch }])
    })

    test('acquiring again what is held already returns it with its epoch and changes nothing', async () => {
      const { one } = await suite.group()
      const held = await ownedGroup(one, A, 2)
      suite.time().advance(1_000)
      const again = await one.acquire({ ...A, leaseIds: held.map(({ leaseId }) => leaseId) })
      expect(again).toEqual(held)
    })

    test('LE-4 the lease of an expired session is taken, and LE-11 its epoch rises', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const leaseIds = [held?.leaseId ?? '']
      await syncOk(two, B, 'join')
      await passTime(two, suite.time(), TTL_MS + CAP_MS, [B])
      await joinAndPlan(two, identity('b', 'b-2'), leaseIds)
      const [taken] = await two.acquire({ ...identity('b', 'b-2'), leaseIds })
      expect(taken?.epoch).toBeGreaterThan(held?.epoch ?? Infinity)
      expect(taken?.lease.checkpoint).toEqual(held?.lease.checkpoint)
    })

    test('a restarted host takes its own leases back at once, and its earlier life is fenced', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      await syncOk(two, A2, 'join')
      const [taken] = await two.acquire({ ...A2, leaseIds: [leaseId] })
      expect(taken?.epoch).toBeGreaterThan(epoch)
      const checkpoints = [{ leaseId, epoch, checkpoint: position(5) }]
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
      expect(await one.acquire({ ...A, leaseIds: [leaseId] })).toEqual([])
    })

    test('the lease of a replaced process may also go to another host', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      await syncOk(one, A2, 'join')
      await joinAndPlan(two, B, [leaseId])
      const [taken] = await two.acquire({ ...B, leaseIds: [leaseId] })
      expect(taken?.epoch).toBeGreaterThan(epoch)
      expect(await one.acquire({ ...A2, leaseIds: [leaseId] })).toEqual([])
    })

    test('the epoch rises although the store’s clock was set back', async () => {
      const { one } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      await one.release({ ...A, releases: [{ leaseId, epoch }] })
      suite.time().step(-5_000)
      const [again] = await one.acquire({ ...A, leaseIds: [leaseId] })
      suite.time().advance(5_000)
      expect(again?.epoch).toBe(epoch + 1)
    })

    test('LE-3 of two hosts that race for leases each lease has one owner', async () => {
      const { one, two } = await suite.group()
      const leaseIds = idsOf(await one.create(newLeases(30)))
      await joinAndPlan(one, A, leaseIds)
      // The same host name on both sides: both are entitled, one incarnation is current.
      const [first, second] = await Promise.all([
        one.acquire({ ...A, leaseIds }),
        syncOk(two, A2, 'join').then(() => two.acquire({ ...A2, leaseIds })),
      ])
      expect(second).toHaveLength(30)
      const { leases } = await one.read()
      for (const { owner } of leases) expect(owner).toEqual(A2)
      const stale = new Map(first.map(({ leaseId, epoch }) => [leaseId, epoch]))
      for (const { leaseId, epoch } of second) {
        expect(epoch).toBeGreaterThan(stale.get(leaseId) ?? 0)
      }
    })
  })

  describe('checkpoint', () => {
    test('the owner’s positions are stored, may repeat, and never go back', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const at = (value: number): Promise<readonly string[]> =>
        one.checkpoint({ ...A, checkpoints: [{ leaseId, epoch, checkpoint: position(value) }] })
      expect(await at(5)).toEqual(['stored'])
      expect(await at(5)).toEqual(['stored'])
      expect(await at(4)).toEqual(['regress'])
      expect((await two.read()).leases[0]?.checkpoint).toEqual(position(5))
      expect(await at(2 ** 53 - 1)).toEqual(['stored'])
      expect((await two.read()).leases[0]?.checkpoint).toEqual(position(2 ** 53 - 1))
      expect(await at(2 ** 53 - 2)).toEqual(['regress'])
    })

    test('TTL-14 a flush resolves, where there is one: with nothing new, with more on its way, and for leases that others have by then', async ({
      skip,
    }) => {
      const { one, two } = await suite.group()
      const flush = one.flush?.bind(one) ?? skip('positions are on disk at once')
      await flush()
      const held = await ownedGroup(one, A, 3)
      const at = (value: number): Promise<readonly string[]> =>
        one.checkpoint({
          ...A,
          checkpoints: held.map((lease) => ({ ...lease, checkpoint: position(value) })),
        })
      await at(5)
      await flush()
      await Promise.all([at(6), flush(), at(7), flush()])
      await flush()
      expect((await two.read()).leases.map(({ checkpoint }) => checkpoint.lsn)).toEqual([7, 7, 7])
      await at(8)
      await one.release({ ...A, releases: held })
      const leaseIds = held.map(({ leaseId }) => leaseId)
      await syncOk(two, B, 'join')
      await joinAndPlan(two, B, leaseIds)
      await two.acquire({ ...B, leaseIds })
      await flush()
      await two.flush?.()
    })

    test('LE-11 a stale epoch, incarnation or host is refused, alone or among others', async () => {
      const { one } = await suite.group()
      const [first, second] = await ownedGroup(one, A, 2)
      const good = { leaseId: first?.leaseId ?? '', epoch: first?.epoch ?? 0 }
      const other = { leaseId: second?.leaseId ?? '', epoch: second?.epoch ?? 0 }
      const checkpoint = position(3)
      const outcomes = await one.checkpoint({
        ...A,
        checkpoints: [
          { ...good, epoch: good.epoch - 1, checkpoint },
          { ...good, epoch: good.epoch + 1, checkpoint },
          { ...good, checkpoint },
          { leaseId: 'AA-BB', epoch: good.epoch, checkpoint },
          { ...other, checkpoint: position(4) },
          { ...other, checkpoint: position(2) },
        ],
      })
      expect(outcomes).toEqual(['lost', 'lost', 'stored', 'lost', 'stored', 'regress'])
      const checkpoints = [{ ...good, checkpoint: position(9) }]
      for (const stranger of [A2, B, identity(B.host, A.incarnation)]) {
        expect(await one.checkpoint({ ...stranger, checkpoints })).toEqual(['lost'])
        expect(await one.release({ ...stranger, releases: [good] })).toEqual(['lost'])
      }
      const stored = (await one.read()).leases.map((lease) => lease.checkpoint)
      expect(stored).toEqual(expect.arrayContaining([position(3), position(4)]))
    })

    test('an expired owner may checkpoint as long as nobody took its lease', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      await syncOk(two, B, 'join')
      await passTime(two, suite.time(), TTL_MS + CAP_MS, [B])
      const at = (value: number): Promise<readonly string[]> =>
        one.checkpoint({ ...A, checkpoints: [{ leaseId, epoch, checkpoint: position(value) }] })
      expect(await at(5)).toEqual(['stored'])
      const b2 = identity('b', 'b-2')
      await joinAndPlan(two, b2, [leaseId])
      const [taken] = await two.acquire({ ...b2, leaseIds: [leaseId] })
      expect(taken?.lease.checkpoint).toEqual(position(5))
      expect(await at(6)).toEqual(['lost'])
    })

    test('LE-1 the timestamp is the later of the last change and the owner’s last heartbeat', async () => {
      const { one } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const read = async (): Promise<{ timestampMs: number; etag: string } | undefined> =>
        (await one.read()).leases[0]
      suite.time().advance(1_000)
      const checkpoints = [{ leaseId, epoch, checkpoint: position(1) }]
      const before = await read()
      await one.checkpoint({ ...A, checkpoints })
      const changed = await read()
      expect(changed?.timestampMs).toBe(suite.time().wallMs())
      expect(changed?.etag).not.toBe(before?.etag)
      suite.time().advance(1_000)
      await syncOk(one, A, 'beat')
      const beaten = await read()
      expect(beaten?.timestampMs).toBe(suite.time().wallMs())
      expect(beaten?.etag).toBe(changed?.etag)
    })
  })

  describe('release', () => {
    test('LE-6 a released lease is free at its last position, and the next owner begins there', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const releases = [{ leaseId, epoch, checkpoint: position(8) }]
      expect(await one.release({ ...A, releases })).toEqual(['released'])
      expect((await two.read()).leases).toMatchObject([
        { owner: undefined, epoch, checkpoint: position(8) },
      ])
      const checkpoints = [{ leaseId, epoch, checkpoint: position(9) }]
      expect(await one.checkpoint({ ...A, checkpoints })).toEqual(['lost'])
      expect(await one.release({ ...A, releases })).toEqual(['lost'])
      await joinAndPlan(two, B, [leaseId])
      const [taken] = await two.acquire({ ...B, leaseIds: [leaseId] })
      expect(taken?.lease.checkpoint).toEqual(position(8))
      expect(taken?.epoch).toBeGreaterThan(epoch)
    })

    test('LE-11 the next epoch is above one that a sink has seen, also with a clock that is behind', async () => {
      const { one, two } = await suite.group()
      const [first, second] = await ownedGroup(one, A, 2)
      const aboveEpoch = (suite.time().wallMs() + 3_600_000) * 1_000
      const releases = [
        { ...heldOf(first!), aboveEpoch },
        { ...heldOf(second!), aboveEpoch: 1 },
      ]
      expect(await one.release({ ...A, releases })).toEqual(['released', 'released'])
      const leaseIds = [first!.leaseId, second!.leaseId]
      const { leases } = await two.read()
      expect(leases.map(({ epoch }) => epoch)).toEqual([aboveEpoch, second!.epoch])
      const acquired = await one.acquire({ ...A, leaseIds })
      expect(acquired.map(({ epoch }) => epoch)[0]).toBe(aboveEpoch + 1)
      expect(acquired.map(({ epoch }) => epoch)[1]).toBeLessThan(aboveEpoch)
      expect((await two.read()).leases.map(({ epoch }) => epoch)).toEqual(
        acquired.map(({ epoch }) => epoch),
      )
    })

    test('a lower or absent last position leaves the stored one', async () => {
      const { one } = await suite.group()
      const held = await ownedGroup(one, A, 2)
      const checkpoint = position(6)
      await one.checkpoint({ ...A, checkpoints: held.map((lease) => ({ ...lease, checkpoint })) })
      const [first, second] = held.map(({ leaseId, epoch }) => ({ leaseId, epoch }))
      if (first === undefined || second === undefined) throw new Error('two leases were acquired')
      const releases = [{ ...first, checkpoint: position(5) }, second]
      expect(await one.release({ ...A, releases })).toEqual(['released', 'released'])
      const stored = (await one.read()).leases.map((lease) => lease.checkpoint)
      expect(stored).toEqual([checkpoint, checkpoint])
    })

    test('a lease that is named twice is released once, at the first position', async () => {
      const { one } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const releases = [3, 4].map((value) => ({ leaseId, epoch, checkpoint: position(value) }))
      expect(await one.release({ ...A, releases })).toEqual(['released', 'lost'])
      expect((await one.read()).leases[0]?.checkpoint).toEqual(position(3))
    })

    test('nobody else can release a lease', async () => {
      const { one, two } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      expect(await two.release({ ...B, releases: [{ leaseId, epoch }] })).toEqual(['lost'])
      expect(await two.release({ ...A2, releases: [{ leaseId, epoch }] })).toEqual(['lost'])
      expect(await one.release({ ...A, releases: [{ leaseId, epoch: epoch - 1 }] })).toEqual([
        'lost',
      ])
      expect((await one.read()).leases).toMatchObject([{ owner: A, epoch }])
    })
  })

  describe('reconcile', () => {
    test('it names what the host does not hold, what it has lost, and what the store is behind with', async () => {
      const { one } = await suite.group()
      const held = await ownedGroup(one, A, 4)
      const [same, unknown, lost, behind] = held.map(({ leaseId, epoch }) => ({ leaseId, epoch }))
      if (!same || !unknown || !lost || !behind) throw new Error('four leases were acquired')
      await one.release({ ...A, releases: [lost] })
      const reply = await one.reconcile({
        ...A,
        held: [
          { ...same, lsn: 0 },
          { ...lost, lsn: 0 },
          { ...behind, lsn: 12 },
          { leaseId: 'AA-BB', epoch: 3, lsn: 0 },
        ],
      })
      expect(reply.unknownToHost.map(({ id }) => id)).toEqual([unknown.leaseId])
      expect(reply.lost.toSorted()).toEqual([lost.leaseId, 'AA-BB'].toSorted())
      expect(reply.behind).toEqual([behind.leaseId])
    })

    test('a lease held at another epoch is both lost and unknown', async () => {
      const { one } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const reply = await one.reconcile({ ...A, held: [{ leaseId, epoch: epoch - 1, lsn: 0 }] })
      expect(reply.unknownToHost).toMatchObject([{ id: leaseId, epoch }])
      expect(reply.lost).toEqual([leaseId])
    })

    test('another incarnation holds nothing', async () => {
      const { one } = await suite.group()
      const [held] = await ownedGroup(one, A, 1)
      const { leaseId = '', epoch = 0 } = held ?? {}
      const reply = await one.reconcile({ ...A2, held: [{ leaseId, epoch, lsn: 0 }] })
      expect(reply).toEqual({ unknownToHost: [], lost: [leaseId], behind: [] })
    })
  })
}
