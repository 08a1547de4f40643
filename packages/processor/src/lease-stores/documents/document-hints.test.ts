import { expect, test } from 'vitest'
import type { LeaseHint } from '@tidemark/contracts'
import { FakeDocumentCollection, SimulatedClock } from '@tidemark/testing'
import { hostIdentity, syncRequest } from '@tidemark/testing/conformance'
import { DocumentLeaseStore } from './document-lease-store.ts'

test('LE-12 LE-13 while positions are written all the time, hints cost few reads and come within 200 ms', async () => {
  const clock = new SimulatedClock()
  const collection = new FakeDocumentCollection({ clock })
  const one = await new DocumentLeaseStore(collection, { clock }).openGroup('group')
  const two = await new DocumentLeaseStore(collection, { clock }).openGroup('group')
  const hints: LeaseHint[] = []
  two.subscribe((hint) => hints.push(hint))
  let commits = 0
  const write = async (forMs: number): Promise<void> => {
    for (const endMs = clock.monotonicMs() + forMs; clock.monotonicMs() < endMs;) {
      commits += 1
      const position = { id: 'position', partitionKey: 'group', commits }
      await collection.upsert(position)
      await clock.advance(5)
    }
  }
  await write(400)
  const before = collection.requests.get('read') ?? 0
  await write(2_000)
  // Two documents a look.
  expect((collection.requests.get('read') ?? 0) - before).toBeLessThanOrEqual(2 * 11)
  expect(hints).toEqual([])
  const joined = one.sync(syncRequest(hostIdentity('a'), 'join'))
  await write(220)
  await joined
  expect(hints).toEqual(['membership'])
  await Promise.all([one!.close(), two.close()])
})
