import { expect, test } from 'vitest'
import type { HistoryEntry } from '../history.ts'
import {
  neverDone,
  neverWritten,
  outOfOrder,
  staleOverRanges,
  takeovers,
} from './check-range-history.ts'

const WHOLE = '-FF'
const LOW = '-1F'
const HIGH = '1F-FF'

function open(atMs: number, lease: string, epoch: number): HistoryEntry {
  return { atMs, kind: 'open', lease, epoch }
}

function dispatch(atMs: number, lease: string, epoch: number): HistoryEntry {
  return { atMs, kind: 'dispatch', lease, epoch, lsns: [atMs], ids: [`k:${atMs}`] }
}

function complete(atMs: number, ids: readonly string[]): HistoryEntry {
  return { atMs, kind: 'complete', lease: WHOLE, epoch: 1, ids }
}

test('a change whose work was begun and not done is missing, one that nobody wrote is seen', () => {
  const histories = [[dispatch(1, WHOLE, 1)], [complete(2, ['k:2'])]]
  expect(neverDone(['k:1', 'k:2'], histories)).toEqual(['k:1'])
  expect(neverWritten(['k:2'], histories)).toEqual(['k:1'])
})

test('a change done after a later one of its key is out of order, one that is done again is not', () => {
  const done = complete(1, ['a:0', 'b:0', 'a:1'])
  expect(outOfOrder([[done], [complete(2, ['a:0', 'a:1', 'a:2'])]])).toEqual([])
  expect(outOfOrder([[complete(2, ['a:1'])], [done, complete(3, ['b:2', 'b:1'])]])).toEqual(['b:1'])
})

test('a dispatch of a parent is stale once a child was opened, that of its other child is not', () => {
  const parent = [open(0, WHOLE, 1), dispatch(1, WHOLE, 1)]
  const children = [open(2, LOW, 2), open(3, HIGH, 3), dispatch(4, LOW, 2), dispatch(5, HIGH, 3)]
  expect(staleOverRanges([parent, children])).toEqual([])
  const late = dispatch(6, WHOLE, 1)
  expect(staleOverRanges([[...parent, late], children])).toEqual([late])
  const joined = [open(7, WHOLE, 4), dispatch(8, LOW, 2)]
  expect(staleOverRanges([parent, [...children, ...joined]])).toEqual([joined[1]])
})

test('a takeover is a lease that was open when its process died, and whose keys were opened again', () => {
  const dead = [open(0, WHOLE, 1), { ...open(1, WHOLE, 1), kind: 'close' } as HistoryEntry]
  const killed = [...dead, open(2, LOW, 2)]
  expect(takeovers([killed], [killed, [open(3, HIGH, 3)]])).toBe(0)
  expect(takeovers([killed], [killed, [open(3, WHOLE, 3)]])).toBe(1)
})
