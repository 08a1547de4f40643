import { expect, test } from 'vitest'
import type { CollectionRecord } from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../catalog/collection-row.ts'
import { pageStatement, type PageRows } from './page-statement.ts'

const ROWS: PageRows = {
  table: 'doc',
  horizon: 'horizon',
  columns: ['d.body'],
  size: 'octet_length(d.body)',
  condition: undefined,
}
const collection: CollectionRecord = {
  id: 'coll',
  number: 1,
  rid: 'rid',
  definition: {
    partitionKey: { paths: ['/pk'], version: 2, kind: 'Hash' },
    defaultTtl: null,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 1, waitFor: [] },
    allVersions: null,
    splitAboveBytes: null,
  },
  ttlEras: [],
  etag: '',
  ts: 0,
}
const WANTED = { minInclusive: '20', maxExclusive: '30' }

/** Sealed segments, each inside the keys that are read or beyond them, and the open one. */
function rangeOf(areInside: readonly boolean[]): RangeRow {
  const segment = (id: number, isInside: boolean): SegmentRow => ({
    id,
    base: id,
    lsn: id + 1,
    state: 'sealed',
    folded: false,
    minInclusive: isInside ? '20' : '10',
    maxExclusive: '30',
  })
  const segments = areInside.map((isInside, index) => segment(index, isInside))
  const open = {
    ...segment(99, false),
    minInclusive: '',
    maxExclusive: 'FF',
    state: 'open',
  } as const
  return {
    number: 0,
    parents: [],
    segment: open.id,
    ts: 0,
    minInclusive: '',
    maxExclusive: 'FF',
    segments: [...segments, open],
  }
}

test('the texts of pages, which every connection prepares, are as many as there are segments', () => {
  const texts = new Set<string>()
  const count = 6
  for (let mixture = 0; mixture < 2 ** count; mixture++) {
    const range = rangeOf(Array.from({ length: count }, (_, n) => (mixture >> n) % 2 === 0))
    for (const afterLsn of [-1, 0, 1, 2, 3, 4, 5, 6]) {
      const query = { collection, range: WANTED, afterLsn, maxItems: 10, maxChars: 10 }
      const time = { atLeastMs: 0, clock: 'server' } as const
      texts.add(pageStatement(query, { range, rows: ROWS, time }).template)
    }
  }
  expect(texts.size).toBe(count + 1)
})

test('expiry on a follower is judged by the time that it is given, never by its own clock', () => {
  const query = { collection, range: WANTED, afterLsn: 0, maxItems: 10, maxChars: 10 }
  const rows = { ...ROWS, condition: 'd.exp * 1000 > h.now_ms' }
  const pageBy = (clock: 'server' | 'given'): ReturnType<typeof pageStatement> =>
    pageStatement(query, { range: rangeOf([true]), rows, time: { atLeastMs: 1234, clock } })
  expect(pageBy('server').template).toContain(':now')
  const { template, values } = pageBy('given')
  expect(template).not.toMatch(/:now|:server_now|clock_timestamp|now\(\)/)
  expect(template).toContain('greatest(b.clock, $2::bigint)')
  expect(values[1]).toBe(1234)
})
