import { expect, test } from 'vitest'
import {
  deliveries,
  dispatchesPast,
  missing,
  repeated,
  repeatedBeyondTwoBatches,
  staleDispatches,
} from './check-history.ts'
import type { HistoryEntry } from './history.ts'

const LEASE = '-FF'

function open(atMs: number, epoch: number): HistoryEntry {
  return { atMs, kind: 'open', lease: LEASE, epoch }
}

/** A batch of documents whose ids are their LSNs. */
function dispatch(atMs: number, epoch: number, lsns: readonly number[]): HistoryEntry {
  return { atMs, kind: 'dispatch', lease: LEASE, epoch, lsns, ids: lsns.map(String) }
}

test('a document that nobody got is missing, one that came twice is repeated', () => {
  const delivered = deliveries([[dispatch(1, 1, [1, 2])], [dispatch(2, 2, [2])]])
  expect(missing(['1', '2', '3'], delivered)).toEqual(['3'])
  expect(repeated(delivered)).toEqual(['2'])
})

test('a dispatch after a higher epoch was opened is stale, one before it is not', () => {
  const first = [open(0, 1), dispatch(5, 1, [1]), dispatch(15, 1, [2])]
  const second = [open(10, 2), dispatch(11, 2, [2])]
  expect(staleDispatches([first, second])).toEqual([first[2]])
  expect(staleDispatches([first.slice(0, 2), second])).toEqual([])
})

test('a dispatch past the deadline counts only for leases opened before the fault', () => {
  const history = [open(0, 1), dispatch(5, 1, [1]), dispatch(30, 1, [2]), open(31, 3)]
  const late = [...history, dispatch(32, 3, [3])]
  expect(dispatchesPast(late, { openedBeforeMs: 10, deadlineMs: 20 })).toEqual([history[2]])
})

test('the last two batches of a dead owner may come again, an earlier one may not', () => {
  const dead = [dispatch(1, 1, [1, 2]), dispatch(2, 1, [3]), dispatch(3, 1, [4])]
  expect(repeatedBeyondTwoBatches([dead, [dispatch(9, 2, [3, 4, 5])]])).toEqual([])
  expect(repeatedBeyondTwoBatches([dead, [dispatch(9, 2, [2, 3])]])).toEqual([
    { lease: LEASE, lsn: 2 },
  ])
})

test("each death may repeat two batches: the next owner's last ones may come again too", () => {
  const histories = [
    [dispatch(1, 1, [1]), dispatch(2, 1, [2]), dispatch(3, 1, [3])],
    [dispatch(5, 2, [2]), dispatch(6, 2, [3]), dispatch(7, 2, [4])],
    [dispatch(9, 3, [3, 4])],
  ]
  expect(repeatedBeyondTwoBatches(histories)).toEqual([])
})
