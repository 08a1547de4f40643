import { expect, test } from 'vitest'
import {
  deliveries,
  dispatchesPast,
  missing,
  repeated,
  repeatedBeyondTwoBatches,
  staleDispatches,
} from './check-history.ts'
import { MAX_ITEM_COUNT } from './host-process.ts'
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
  const dead = [
    dispatch(1, 1, [1, 2]),
    dispatch(2, 1, lsnsUpTo(2 + MAX_ITEM_COUNT, MAX_ITEM_COUNT)),
    dispatch(3, 1, [30]),
  ]
  expect(repeatedBeyondTwoBatches([dead, [dispatch(9, 2, [3, 4, 30])]])).toEqual([])
  expect(repeatedBeyondTwoBatches([dead, [dispatch(9, 2, [2, 3])]])).toEqual([
    { lease: LEASE, lsn: 2 },
  ])
})

test('small batches before the last one count as one, up to the changes of a full one', () => {
  const small = lsnsUpTo(MAX_ITEM_COUNT + 1, MAX_ITEM_COUNT + 1).map((n) => dispatch(n, 1, [n]))
  const dead = [...small, dispatch(90, 1, [90])]
  expect(repeatedBeyondTwoBatches([dead, [dispatch(99, 2, [2, 90])]])).toEqual([])
  expect(repeatedBeyondTwoBatches([dead, [dispatch(99, 2, [1, 2])]])).toEqual([
    { lease: LEASE, lsn: 1 },
  ])
})

test("each death may repeat two batches: the next owner's last ones may come again too", () => {
  const full = lsnsUpTo(20 + MAX_ITEM_COUNT, MAX_ITEM_COUNT)
  const histories = [
    [dispatch(1, 1, [1]), dispatch(2, 1, full), dispatch(3, 1, [50])],
    [dispatch(5, 2, full), dispatch(6, 2, [50]), dispatch(7, 2, [51])],
    [dispatch(9, 3, [50, 51])],
  ]
  expect(repeatedBeyondTwoBatches(histories)).toEqual([])
})

/** So many, the last of which is `last`. */
function lsnsUpTo(last: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index)
}
