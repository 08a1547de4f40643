import { expect, test } from 'vitest'
import { isWorthMeasuring } from './worth-measuring.ts'

const splitAboveBytes = 1_000_000

test('ST-9 a range is measured first when it has had a commit', () => {
  expect(isWorthMeasuring(undefined, { lsn: 0, splitAboveBytes })).toBe(false)
  expect(isWorthMeasuring(undefined, { lsn: 1, splitAboveBytes })).toBe(true)
})

test('ST-9 it is measured again only when it may have grown enough', () => {
  const measured = { lsn: 100, documents: 500, bytes: 500_000 }
  const after = (commits: number): boolean =>
    isWorthMeasuring(measured, { lsn: 100 + commits, splitAboveBytes })
  expect(after(0)).toBe(false)
  expect(after(30)).toBe(false)
  // Before every commit could have brought one of the missing 500 documents.
  expect(after(100)).toBe(true)
})

test('ST-9 one that is empty, almost full or too large already is measured sooner or later', () => {
  for (const [documents, bytes] of [
    [0, 0],
    [999, 999_999],
    [3, 5_000_000],
    [100_000, 5_000_000],
  ] as const) {
    const measured = { lsn: 10, documents, bytes }
    const at = (lsn: number): boolean => isWorthMeasuring(measured, { lsn, splitAboveBytes })
    expect(at(10)).toBe(false)
    expect(at(11)).toBe(false)
    expect(at(1_000_000)).toBe(true)
  }
})
