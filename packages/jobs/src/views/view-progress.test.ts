import { ChangeFeedProcessorHost, MemoryLeaseStore } from '@tidemark/processor'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { WatchedGroups } from '../workers/job-groups.ts'
import { openViewStorage } from './open-view-storage.ts'
import { viewGroups } from './view-options.ts'
import { readViewProgress } from './view-progress.ts'

test.each([
  { roles: [], state: 'starting', lag: undefined },
  { roles: ['documents'], state: 'starting', lag: undefined },
  { roles: ['deletes'], state: 'starting', lag: undefined },
  { roles: ['documents', 'deletes'], state: 'caughtUp', lag: 0 },
])('JB-3 a view has started when all of its groups have leases: $roles', async (given) => {
  const { roles, ...expected } = given
  await using store = await openMemoryStore()
  const database = store.database('db')
  const source = await database.createCollectionIfNotExists({
    id: 'orders',
    partitionKey: '/id',
    allVersions: { retentionSeconds: 60 },
  })
  const leases = new MemoryLeaseStore()
  const groups = viewGroups('v', 1, { followsLog: true })
  for (const { role, group, feedOptions } of groups) {
    if (!roles.includes(role)) continue
    const host = new ChangeFeedProcessorHost({ feed: source, leases, group, feedOptions })
    await host.registerObserverFactory(() => ({ processChanges: async () => {} }))
    await host.unregisterObservers()
  }
  const edition = { number: 1, version: '1', folds: '', source: source.identity }
  const storage = await openViewStorage(database, 'v', edition)
  await using watched = new WatchedGroups({ source, leases }, groups)
  const progress = await readViewProgress({ name: 'v', edition, storage, groups: watched })
  expect(progress).toMatchObject(expected)
})
