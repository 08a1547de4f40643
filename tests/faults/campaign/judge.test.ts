import { expect, test } from 'vitest'
import type { HistoryEntry } from '../history.ts'
import { judge, type Promised, type Verdict } from './judge.ts'

const LEASE = '-FF'
const PROMISED: Promised = { maxItemCount: 10, exclusive: true, abortedBatches: 0 }

function open(atMs: number, epoch: number): HistoryEntry {
  return { atMs, kind: 'open', lease: LEASE, epoch }
}

function close(atMs: number, epoch: number): HistoryEntry {
  return { atMs, kind: 'close', lease: LEASE, epoch }
}

function released(atMs: number, epoch: number, reason = 'leaseHandedOver'): HistoryEntry {
  const detail = JSON.stringify({ leaseId: LEASE, epoch, reason })
  return { atMs, kind: 'event', name: 'leaseReleased', detail }
}

/** A batch that is begun, and done right after. */
function batch(atMs: number, epoch: number, ids: readonly string[]): readonly HistoryEntry[] {
  return [
    { atMs, kind: 'dispatch', lease: LEASE, epoch, lsns: ids.map((_, index) => index), ids },
    { atMs: atMs + 1, kind: 'complete', lease: LEASE, epoch, ids },
  ]
}

const WRITTEN = ['k:0', 'k:1', 'k:2']
const HANDED_OVER = [open(0, 1), ...batch(1, 1, ['k:0', 'k:1']), close(3, 1), released(4, 1)]
const KILLED = [open(0, 1), ...batch(1, 1, ['k:0', 'k:1'])]
const NEXT = [open(10, 2), ...batch(11, 2, ['k:2'])]
const NEXT_AGAIN = [open(10, 2), ...batch(11, 2, ['k:1', 'k:2'])]

function judged(
  histories: readonly (readonly HistoryEntry[])[],
  promised: Partial<Promised> = {},
): Verdict {
  // The last one still runs.
  const living = histories.slice(-1)
  return judge({ written: WRITTEN, histories, living }, { ...PROMISED, ...promised })
}

test('a lease that was handed over in order may repeat nothing', () => {
  expect(judged([HANDED_OVER, NEXT])).toMatchObject({ lost: [], duplicates: 0, bound: 0 })
  expect(judged([HANDED_OVER, NEXT_AGAIN])).toMatchObject({ duplicates: 1, bound: 0 })
})

test('a killed owner may repeat two batches, as may one that lost its lease, or gave it back because a call hung', () => {
  expect(judged([KILLED, NEXT_AGAIN])).toMatchObject({ duplicates: 1, bound: 20 })
  expect(judged([[...KILLED, close(3, 1)], NEXT])).toMatchObject({ bound: 20 })
  expect(judged([[...KILLED, close(3, 1), released(4, 1, 'observerStuck')], NEXT])).toMatchObject({
    bound: 20,
  })
  // In a process that lives, and has the lease still, nothing ended.
  expect(judged([KILLED])).toMatchObject({ bound: 0 })
  expect(judged([[...KILLED, close(3, 1)]])).toMatchObject({ bound: 20 })
})

test('what was done while the lease store lost its data may come again', () => {
  const lost = { fromMs: 0, toMs: 5 }
  expect(judged([HANDED_OVER, NEXT_AGAIN], { lost })).toMatchObject({ duplicates: 1, bound: 2 })
})

test('tries of one owner are no duplicates', () => {
  const retried = [open(10, 2), ...batch(11, 2, ['k:2']), ...batch(13, 2, ['k:2'])]
  expect(judged([HANDED_OVER, retried])).toMatchObject({ duplicates: 0 })
})

test('lost, out of order, unknown and stale are told', () => {
  const late = [...KILLED, ...batch(20, 1, ['k:9'])]
  const verdict = judged([late, [open(10, 2), ...batch(11, 2, ['k:2'])]])
  expect(verdict.wrong).toEqual([
    'k:9 was delivered, and nobody wrote it',
    `${LEASE} was dispatched at epoch 1, a stale one`,
  ])
  expect(judged([late, NEXT], { exclusive: false }).wrong).toHaveLength(1)
  expect(judged([[open(0, 1), ...batch(1, 1, ['k:2', 'k:0'])]])).toMatchObject({
    lost: ['k:1'],
    outOfOrder: ['k:0'],
  })
})
