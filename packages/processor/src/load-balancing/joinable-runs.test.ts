import { expect, test } from 'vitest'
import { feedRangeId, parseFeedRangeId, type FeedRange } from '@tidemark/contracts'
import { joinableRuns, runsAtOnePlace } from './joinable-runs.ts'

function leases(
  ...ids: string[]
): { held: { leaseId: string; epoch: number }; range: FeedRange }[] {
  return ids.map((leaseId) => ({ held: { leaseId, epoch: 1 }, range: parseFeedRangeId(leaseId)! }))
}

function ids(runs: readonly (readonly { range: FeedRange }[])[]): string[][] {
  return runs.map((run) => run.map(({ range }) => feedRangeId(range)))
}

test('neighbours form runs in EPK order; a lease without a neighbour is in none', () => {
  const runs = joinableRuns(leases('80-90', '-10', '20-30', '10-20', '50-60'))
  expect(ids(runs)).toEqual([['-10', '10-20', '20-30']])
})

test('only leases that lie in one present range may become one', () => {
  const held = leases('-10', '10-20', '20-30', '30-FF')
  const present = leases('-20', '20-30', '30-FF').map(({ range }) => range)
  expect(ids(joinableRuns(held, present))).toEqual([['-10', '10-20']])
  expect(
    joinableRuns(
      held,
      leases('-08', '08-FF').map(({ range }) => range),
    ),
  ).toHaveLength(1)
})

test('what takes part in one replacement is bounded', () => {
  const bounds = Array.from({ length: 100 }, (_, index) => (index + 16).toString(16).toUpperCase())
  const many = leases(...bounds.slice(1).map((max, index) => `${bounds[index]}-${max}`))
  const runs = joinableRuns(many)
  expect(runs.map(({ length }) => length)).toEqual([32, 32, 32, 3])
})

test('of a run those that stand at one LSN and are neighbours', () => {
  const at = [5, 5, 7, 5, 5, 7]
  const run = leases('-10', '10-20', '20-30', '30-40', '40-50', '50-FF').map((lease, index) => ({
    ...lease,
    lsn: at[index]!,
  }))
  expect(ids(runsAtOnePlace(run))).toEqual([
    ['-10', '10-20'],
    ['30-40', '40-50'],
  ])
})
