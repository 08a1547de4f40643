import { FULL_RANGE } from '@tidemark/contracts'
import type { CollectionRecord } from '@tidemark/store'
import { expect, test } from 'vitest'
import { pageStatement, type PageTime } from './page-statement.ts'

const segment = { ...FULL_RANGE, id: 7, base: 0, lsn: 5, state: 'open', folded: false } as const
const range = { ...FULL_RANGE, number: 0, parents: [], segment: 7, ts: 0, segments: [segment] }
const rows = {
  table: 'doc',
  horizon: 'horizon',
  columns: ['d.body'],
  size: 'length(d.body)',
  condition: 'd.exp * 1000 > h.now_ms',
} as const

function pageBy(time: PageTime): ReturnType<typeof pageStatement> {
  // Only its number is looked at.
  const collection = { number: 1 } as CollectionRecord
  const limits = { afterLsn: 0, maxItems: 10, maxChars: 1000 }
  return pageStatement({ collection, range: FULL_RANGE, ...limits }, { range, rows, time })
}

test('expiry on a follower is judged by the time that it is given, never by its own clock', () => {
  const primary = pageBy({ atLeastMs: 1234, clock: 'server' })
  const follower = pageBy({ atLeastMs: 1234, clock: 'given' })
  expect(primary.template).toContain(':now')
  expect(follower.template).not.toMatch(/:now|:server_now|clock_timestamp|now\(\)/)
  expect(follower.template).toContain('greatest(b.clock, $2::bigint)')
  expect(follower.values[1]).toBe(1234)
})
