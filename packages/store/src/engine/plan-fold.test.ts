import { expect, test } from 'vitest'
import { planFold, sharedSegments, type FoldableSegment } from './plan-fold.ts'

interface TestSegment extends FoldableSegment {
  readonly folded?: true
}

function segment(
  id: number,
  [base, lsn]: readonly [number, number],
  rest: Partial<TestSegment> = {},
): TestSegment {
  return { id, base, lsn, state: 'sealed', ...rest }
}

const open = segment(99, [1000, 1000], { state: 'open' })

function plan(
  segments: readonly TestSegment[],
  ...shared: readonly number[]
): readonly [target: number | undefined, ...sources: number[]] | undefined {
  const found = planFold([...segments, open], {
    shared: new Set(shared),
    isFolded: ({ folded }) => folded === true,
  })
  return found && [found.target?.id, ...found.sources.map(({ id }) => id)]
}

test('ST-9 a range that writes to its only segment has nothing to fold', () => {
  expect(plan([])).toBeUndefined()
})

test('ST-9 a few segments of its own one after the other stay, many are folded', () => {
  const row = (count: number): readonly TestSegment[] =>
    Array.from({ length: count }, (_, n) => segment(n + 1, [n * 10, n * 10 + 10]))
  expect(plan(row(8))).toBeUndefined()
  expect(plan(row(9))).toEqual([undefined, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('ST-9 what another range has too, and what overlaps in LSNs, is folded', () => {
  expect(plan([segment(1, [0, 10])], 1)).toEqual([undefined, 1])
  expect(plan([segment(1, [0, 10]), segment(2, [5, 20])])).toEqual([undefined, 1, 2])
  expect(plan([segment(1, [0, 10]), segment(2, [10, 20])])).toBeUndefined()
})

test('ST-9 a folded segment below all others is gone on with, one that is shared or above is not', () => {
  const folded = segment(1, [0, 10], { folded: true })
  expect(plan([folded, segment(2, [10, 20])], 2)).toEqual([1, 2])
  expect(plan([folded, segment(2, [10, 20])], 1, 2)).toEqual([undefined, 1, 2])
  expect(plan([folded, segment(2, [5, 20])], 2)).toEqual([undefined, 1, 2])
})

test('ST-9 a fold that has begun goes on, whatever came since', () => {
  const begun = segment(3, [0, 5], { folded: true, state: 'folding' })
  const below = segment(1, [0, 4], { folded: true })
  expect(plan([below, segment(2, [4, 20]), begun])).toEqual([3, 1, 2])
})

test('ST-9 a segment is shared when any two ranges have it', () => {
  const ids = (...lists: number[][]): number[] => [
    ...sharedSegments(lists.map((list) => ({ segments: list.map((id) => ({ id })) }))),
  ]
  expect(ids()).toEqual([])
  expect(ids([1, 2], [3], [])).toEqual([])
  expect(ids([1, 2], [3], [2, 4], [4, 5, 2])).toEqual([2, 4])
})
