import type { ChangeFeedEstimator } from '@tidemark/processor'
import { expect, test } from 'vitest'
import { readViewProgress, type ViewProgress, type WatchedEdition } from './view-progress.ts'

const CAUGHT_UP = { remainingChanges: 0, isExact: true, lsnDistance: 0 }

/** Of a view whose groups have that many leases each, and have caught up. */
function progressWith(leases: readonly number[]): Promise<ViewProgress> {
  const groups = leases.map((length) => ({
    estimate: async () => ({ leases: Array.from({ length }, () => CAUGHT_UP) }),
  }))
  const storage = { readAllProgress: async () => [], collection: { count: async () => 0 } }
  const edition = { number: 1, version: '1' }
  // What is looked at of them.
  return readViewProgress({
    name: 'v',
    edition: edition as WatchedEdition<never>['edition'],
    storage: storage as unknown as WatchedEdition<never>['storage'],
    groups: groups as unknown as readonly ChangeFeedEstimator<never>[],
  })
}

test.each([
  { leases: [0, 0], state: 'starting', lag: undefined },
  { leases: [2, 0], state: 'starting', lag: undefined },
  { leases: [0, 2], state: 'starting', lag: undefined },
  { leases: [2, 2], state: 'caughtUp', lag: 0 },
])('JB-3 a view has started when all of its groups have leases: $leases', async (given) => {
  const { leases, ...expected } = given
  expect(await progressWith(leases)).toMatchObject(expected)
})
