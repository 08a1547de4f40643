import type { LeaseTransition } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { timelineRows } from './timeline.ts'

let epoch = 0

function told(
  host: string,
  kind: LeaseTransition['kind'],
  reason?: string,
  leaseId = '-FF',
): LeaseTransition {
  epoch += 1
  return { atMs: epoch, host, leaseId, epoch, kind, reason }
}

function shown(transitions: readonly LeaseTransition[]): readonly string[] {
  return timelineRows(transitions).map(({ kind, from, to }) => `${kind} ${from} ${to}`)
}

test('a lease that was handed over, one that was given back, and one of a host that died tell apart', () => {
  expect(
    shown([
      told('a', 'acquired'),
      told('a', 'released', 'leaseHandedOver'),
      told('b', 'acquired'),
      told('b', 'released', 'shutdown'),
      told('c', 'acquired'),
      // c was killed.
      told('d', 'acquired'),
      // It only slept.
      told('c', 'lost', 'fenced'),
      told('d', 'split'),
      told('d', 'acquired', undefined, '-7F'),
      told('d', 'joined', undefined, '-7F'),
    ]),
  ).toEqual([
    'acquired null a',
    'released a null',
    'handedOver a b',
    'released b null',
    'acquired null c',
    'takenOver c d',
    'fenced c d',
    'split d null',
    'acquired null d',
    'joined d null',
  ])
})

test('each row has an id of its own, which stays when older rows go', () => {
  const transitions = Array.from({ length: 1_500 }, () => told('a', 'acquired'))
  const rows = timelineRows(transitions)
  expect(rows).toHaveLength(1_000)
  expect(new Set(rows.map(({ id }) => id)).size).toBe(1_000)
  expect(timelineRows(transitions.slice(1)).map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
})
