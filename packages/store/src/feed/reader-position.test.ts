import { FULL_RANGE, lsn, type RangePosition } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { assertNothingMissed, positionAfter } from './reader-position.ts'

const at = (position: number, horizon: number | undefined): RangePosition => ({
  range: FULL_RANGE,
  epoch: 0,
  lsn: lsn(position),
  horizon: horizon === undefined ? undefined : lsn(horizon),
})

test('TTL-15 missed is only what was purged above the position, and since the last read', () => {
  const cases: readonly (readonly [number, number | undefined, number, boolean])[] = [
    [10, undefined, 99, false],
    [10, 0, 0, false],
    [10, 0, 10, false],
    [10, 0, 11, true],
    [10, 50, 50, false],
    [10, 50, 51, true],
    [60, 50, 55, false],
  ]
  for (const [position, known, horizon, missed] of cases) {
    const check = (): void => assertNothingMissed(at(position, known), horizon)
    if (missed) expect(check).toThrow(expect.objectContaining({ lsn: position, horizon }))
    else expect(check).not.toThrow()
  }
})

test('TTL-15 CF-11 what a reader must not miss begins with the first document, or with the first read of a log', () => {
  const page = (rows: number) => ({ lsn: 20, epoch: 1, horizon: 7, rows: { length: rows } })
  const horizonAfter = (...args: Parameters<typeof positionAfter>): number | undefined =>
    positionAfter(...args).horizon
  expect(horizonAfter(at(0, undefined), page(0), 'latestVersion')).toBeUndefined()
  expect(horizonAfter(at(0, undefined), page(1), 'latestVersion')).toBe(7)
  expect(horizonAfter(at(0, 3), page(0), 'latestVersion')).toBe(7)
  expect(horizonAfter(at(0, undefined), page(0), 'allVersions')).toBe(7)
  expect(positionAfter(at(0, 3), page(0), 'allVersions')).toEqual({ ...at(20, 7), epoch: 1 })
})
