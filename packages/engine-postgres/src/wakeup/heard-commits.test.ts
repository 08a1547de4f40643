import { expect, test } from 'vitest'
import { HeardCommits } from './heard-commits.ts'

test('CF-12 of what it was told the newest counts, of each range', () => {
  const heard = new HeardCommits(() => true)
  heard.heard({ collection: 1, range: 0, lsn: 5 })
  heard.heard({ collection: 1, range: 0, lsn: 9 })
  heard.heard({ collection: 1, range: 0, lsn: 7 })
  heard.heard({ collection: 2, range: 0, lsn: 3 })
  expect(heard.newestLsn(1, 0)).toBe(9)
  expect(heard.newestLsn(2, 0)).toBe(3)
  expect(heard.newestLsn(1, 1)).toBe(0)
})

test('collections that nobody reads here are not kept, and not too many ranges of the others', () => {
  const heard = new HeardCommits((collection) => collection === 1)
  heard.heard({ collection: 2, range: 0, lsn: 5 })
  expect(heard.newestLsn(2, 0)).toBe(0)
  for (let range = 0; range < 25_000; range++) heard.heard({ collection: 1, range, lsn: 1 })
  const kept = Array.from({ length: 25_000 }, (_, range) => heard.newestLsn(1, range))
  expect(kept.filter((lsn) => lsn > 0).length).toBeLessThanOrEqual(10_000)
  expect(heard.newestLsn(1, 24_999)).toBe(1)
})
