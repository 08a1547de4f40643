import { FULL_RANGE, lsn, type RangePosition } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import type { Horizon } from '../engine/horizons.ts'
import { assertNothingMissed, positionAfter } from './reader-position.ts'

const at = (position: number, purgeStamp: number | undefined): RangePosition => ({
  range: FULL_RANGE,
  epoch: 0,
  lsn: lsn(position),
  purgeStamp,
})
const horizon = (upTo: number, stamp: number): Horizon => ({ range: FULL_RANGE, lsn: upTo, stamp })

test('TTL-15 missed is only what was purged above the position, and since the last read', () => {
  const cases: readonly (readonly [number, number | undefined, Horizon[], number | 'nothing'])[] = [
    [10, undefined, [horizon(99, 1)], 'nothing'],
    [10, 0, [], 'nothing'],
    [10, 0, [horizon(10, 1)], 'nothing'],
    [10, 0, [horizon(11, 1)], 11],
    [10, 1, [horizon(50, 1)], 'nothing'],
    [10, 1, [horizon(51, 2)], 51],
    [60, 1, [horizon(55, 2)], 'nothing'],
    // A part that is known hides no other one, however low that is.
    [10, 1, [horizon(50, 1), horizon(11, 2)], 11],
  ]
  for (const [position, known, horizons, missed] of cases) {
    const check = (): void => assertNothingMissed(at(position, known), horizons)
    if (missed === 'nothing') expect(check).not.toThrow()
    else expect(check).toThrow(expect.objectContaining({ lsn: position, horizon: missed }))
  }
})

test('TTL-15 CF-11 what a reader must not miss begins with the first document, or with the first read of a log', () => {
  const page = (rows: number) => ({
    lsn: 20,
    epoch: 1,
    horizons: [horizon(7, 3), horizon(5, 4)],
    rows: { length: rows },
  })
  const known = (...args: Parameters<typeof positionAfter>): number | undefined =>
    positionAfter(...args).purgeStamp
  expect(known(at(0, undefined), page(0), 'latestVersion')).toBeUndefined()
  expect(known(at(0, undefined), page(1), 'latestVersion')).toBe(4)
  expect(known(at(0, 3), page(0), 'latestVersion')).toBe(4)
  expect(known(at(0, 9), page(0), 'latestVersion')).toBe(9)
  expect(known(at(0, undefined), page(0), 'allVersions')).toBe(4)
  expect(positionAfter(at(0, 3), page(0), 'allVersions')).toEqual({ ...at(20, 4), epoch: 1 })
})
