import { FULL_RANGE } from '@tidemark/contracts'
import type { CommitRequest } from '@tidemark/store/engine'
import { expect, test } from 'vitest'
import { CommitGroups, type CommitGroupsOptions } from './commit-groups.ts'

/** Whether a segment was full, the time, faults, their LSNs, LSNs, whether it existed, the timeline. */
const COMMITTED = ['f', '1', '{NULL}', '{NULL}', '{5}', '{f}', '1']

/** Groups whose server answers when the test says so, over unsynced commits that count. */
function groups(answer: Promise<void>) {
  const unsynced = {
    newest: 3,
    durable: 0,
    made: () => {},
    synced: (newest: number) => void (unsynced.durable = newest),
  }
  const range = { ...FULL_RANGE, number: 0, parents: [], segment: 7, ts: 0, segments: [] }
  const context = {
    collections: { known: () => ({ ranges: [range] }) },
    connections: {
      write: async () => {
        await answer
        return [COMMITTED]
      },
    },
    statements: { of: () => '', noticesLoss: true },
    clock: { atLeastMs: () => 0, isOwn: false, heard: () => {} },
  }
  const options = {
    context,
    database: 1,
    maxPendingCommits: 10,
    maxGroupOperations: 10,
    segmentSlots: 100,
    messages: {},
    unsynced,
    onCommitted: () => {},
  }
  // What one commit needs of them.
  return { unsynced, groups: new CommitGroups(options as unknown as CommitGroupsOptions) }
}

test('ST-6 a synced commit makes durable what was made before it was sent, not what was made while it was on its way', async () => {
  const answer = Promise.withResolvers<void>()
  const { unsynced, groups: written } = groups(answer.promise)
  const condition = { kind: 'none' } as const
  const operations = [{ kind: 'delete', id: 'a', condition } as const]
  const request = {
    batches: [{ collection: 1, epk: '', partitionKey: '["a"]', operations }],
  } as unknown as CommitRequest
  const committed = written.commit(request)
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  unsynced.newest = 9
  answer.resolve()
  expect(await committed).toMatchObject({ kind: 'committed' })
  expect(unsynced.durable).toBe(3)
})
