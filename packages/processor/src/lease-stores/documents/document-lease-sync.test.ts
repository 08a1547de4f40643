import { FakeDocumentCollection } from '@tidemark/testing'
import {
  hostIdentity,
  leasePosition,
  newLeases,
  ownedGroup,
  StoreTime,
  syncRequest,
} from '@tidemark/testing/conformance'
import { expect, test, vi } from 'vitest'
import { DocumentLeaseStore } from './document-lease-store.ts'

const A = hostIdentity('a')

test('LE-6 of all that a lease group writes, positions alone need not be on disk when they are answered', async () => {
  const time = new StoreTime()
  const collection = new FakeDocumentCollection({ clock: time })
  const batch = vi.spyOn(collection, 'batch')
  const group = await new DocumentLeaseStore(collection, { clock: time }).openGroup('group')
  const wrote: Record<string, readonly boolean[]> = {}
  const note = async <Result>(what: string, act: () => Promise<Result>): Promise<Result> => {
    batch.mockClear()
    const result = await act()
    const writes = batch.mock.calls.filter(([, operations]) => {
      return operations.some(({ kind }) => kind !== 'read')
    })
    wrote[what] = writes.map(([, , options]) => options?.sync ?? true)
    return result
  }

  const [one, two] = await note('create, join, plan, acquire', () => ownedGroup(group, A, 2))
  const checkpoint = (value: number, attempts?: { count: number; lsn: number }) =>
    group.checkpoint({
      ...A,
      checkpoints: [{ ...one!, checkpoint: leasePosition(value, attempts as never) }],
    })
  await note('beat', () => group.sync(syncRequest(A, 'beat')))
  await note('position', () => checkpoint(1))
  await note('try', () => checkpoint(1, { count: 1, lsn: 2 }))
  await note('end of tries', () => checkpoint(2))
  await note('position after tries', () => checkpoint(3))
  const checkpointed = leasePosition(4)
  await note('release', () =>
    group.release({ ...A, releases: [{ ...one!, checkpoint: checkpointed }] }),
  )
  const again = await note('acquire', () => group.acquire({ ...A, leaseIds: [one!.leaseId] }))
  const next = again.map(({ lease: { range } }) => ({ range, checkpoint: leasePosition(5) }))
  const replaced = await note('replace', () => group.replace({ ...A, old: again, next }))
  if (replaced === 'lost') throw new Error('lost')
  await note('override', () => group.override({ old: replaced, next }))
  await note('pause', () => group.setPaused(true))
  await note('leave', () => group.sync(syncRequest(A, 'leave')))
  await note('discard', () => group.discard('token'))
  expect(two).toBeDefined()

  const unsynced = Object.keys(wrote).filter((what) => wrote[what]?.includes(false))
  expect(unsynced).toEqual(['position', 'position after tries'])
  const nothing = Object.keys(wrote).filter((what) => wrote[what]?.length === 0)
  expect(nothing).toEqual([])
})

test('LE-6 nor are those that say that a set of leases was lost', async () => {
  const time = new StoreTime()
  const collection = new FakeDocumentCollection({ clock: time })
  const group = await new DocumentLeaseStore(collection, { clock: time }).openGroup('group')
  const leases = newLeases(2)
  await group.create(leases.slice(0, 1))
  const batch = vi.spyOn(collection, 'batch')
  const keys = [{ minInclusive: '', maxExclusive: 'FF' }]
  expect(await group.declareLost({ keys, generation: 'next' })).toBe(true)
  expect(batch.mock.calls.map(([, , options]) => options?.sync ?? true)).not.toContain(false)
})
