import { expect, test } from 'vitest'
import { checkAcknowledged, checkReader } from './check-order.ts'
import type { SeenPage, SeenRow } from './ordered-feed.ts'

const ROWS: readonly SeenRow[] = [
  { key: 'g/a', version: 1, lsn: 1 },
  { key: 'g/b', version: 1, lsn: 3 },
  { key: 'g/c', version: 1, lsn: 3 },
  { key: 'g/hot', version: 3, lsn: 5 },
]

function page(...rows: readonly SeenRow[]): SeenPage {
  return { range: 'all', rows }
}

test('a reader that got everything once and in order has no fault', () => {
  const hidden = { key: 'g/hot', version: 2, lsn: 4 }
  const pages = [page(...ROWS.slice(0, 3)), page(hidden), page(...ROWS.slice(3))]
  expect(checkReader(pages, ROWS)).toEqual({ unseen: 0, twice: 0, disordered: 0, told: [] })
})

test('CF-7 a reader that missed a row, or a newest version, is found', () => {
  const [a, b, c] = ROWS
  const stale = { key: 'g/hot', version: 2, lsn: 4 }
  const pages = [page(...[a, c].flatMap((row) => row ?? [])), page(stale)]
  expect(b).toBeDefined()
  expect(checkReader(pages, ROWS)).toMatchObject({ unseen: 2, twice: 0, disordered: 0 })
})

test('CF-7 a row that comes again, in order or not, is found', () => {
  const again = { key: 'g/a', version: 1, lsn: 6 }
  expect(checkReader([page(...ROWS), page(again)], ROWS)).toMatchObject({ twice: 1 })
  expect(checkReader([page(...ROWS), page(...ROWS.slice(0, 1))], ROWS)).toMatchObject({
    twice: 1,
    disordered: 1,
  })
})

test('CF-7 a transaction that is cut between two pages, and LSNs that go back, are found', () => {
  const cut = [page(...ROWS.slice(0, 2)), page(...ROWS.slice(2))]
  expect(checkReader(cut, ROWS)).toMatchObject({ disordered: 1, unseen: 0 })
  const back = [page(...ROWS.slice(1)), page(...ROWS.slice(0, 1))]
  expect(checkReader(back, ROWS)).toMatchObject({ disordered: 1, unseen: 0 })
})

test('ST-6 an acknowledged write that is not there with its LSN is found; one that was written over is not', () => {
  const acknowledged = [
    { lsn: 1, rows: [{ key: 'g/a', version: 1 }] },
    { lsn: 4, rows: [{ key: 'g/hot', version: 2 }] },
  ]
  expect(checkAcknowledged(acknowledged, ROWS)).toEqual([])
  const lost = [
    { lsn: 2, rows: [{ key: 'g/a', version: 1 }] },
    { lsn: 7, rows: [{ key: 'g/x', version: 1 }] },
    { lsn: 7, rows: [{ key: 'g/hot', version: 4 }] },
    { lsn: 6, rows: [{ key: 'g/hot', version: 2 }] },
  ]
  expect(checkAcknowledged(lost, ROWS)).toHaveLength(4)
})
