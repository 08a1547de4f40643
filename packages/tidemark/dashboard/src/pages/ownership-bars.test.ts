import { expect, test } from 'vitest'
import type { LeaseRow, TransitionKind, TransitionRow } from '../../../src/dashboard/views.ts'
import { rangeHistories } from './ownership-bars.ts'

function lease(id: string, owner: string | null): LeaseRow {
  const [from = '', to = ''] = id.split('-')
  return {
    id,
    from,
    to,
    owner,
    state: owner === null ? 'free' : 'owned',
    halted: false,
    target: owner,
    epoch: 1,
    lsn: 0,
    newestLsn: 0,
    changes: 0,
    isExact: true,
    ageMs: 0,
    tries: 0,
    problem: null,
    changedMs: null,
  }
}

let count = 0
function move(
  atMs: number,
  kind: TransitionKind,
  id: string | null,
  [from, to]: readonly [string | null, string | null],
): TransitionRow {
  count += 1
  return { id: String(count), atMs, kind, lease: id, from, to, epoch: null }
}

test('a bar for each owner, from what it began with until now', () => {
  const timeline = [
    move(10, 'handedOver', '-8', ['a', 'b']),
    move(20, 'released', '-8', ['b', null]),
    move(25, 'paused', null, [null, null]),
    move(30, 'acquired', '-8', [null, 'c']),
  ]
  const [low, high] = rangeHistories([lease('8-FF', 'a'), lease('-8', 'c')], timeline)
  expect(low).toMatchObject({
    id: '-8',
    bars: [
      { host: 'a', fromMs: undefined, toMs: 10 },
      { host: 'b', fromMs: 10, toMs: 20 },
      { host: 'c', fromMs: 30, toMs: undefined },
    ],
  })
  // Nothing is known to have happened to it: its owner has had it all the time.
  expect(high).toMatchObject({
    id: '8-FF',
    bars: [{ host: 'a', fromMs: undefined, toMs: undefined }],
  })
})

test('a range that was split is shown above its halves, with its bar ended', () => {
  const timeline = [
    move(10, 'acquired', '-FF', [null, 'a']),
    move(20, 'split', '-FF', ['a', null]),
    move(20, 'acquired', '-8', [null, 'a']),
  ]
  const ranges = rangeHistories([lease('-8', 'a'), lease('8-FF', null)], timeline)
  expect(ranges.map(({ id, bars }) => [id, bars])).toEqual([
    ['-FF', [{ host: 'a', fromMs: 10, toMs: 20 }]],
    ['-8', [{ host: 'a', fromMs: 20, toMs: undefined }]],
    ['8-FF', []],
  ])
})
