import { describe, expect, test } from 'vitest'
import { allPages, MemorySource, rowsOf, withRids } from '../query-rows.fixture.ts'

const documents = [
  { id: 'a', kind: 'x', n: 1, tags: ['p', 'q'] },
  { id: 'b', kind: 'y', n: 2, tags: ['p'] },
  { id: 'c', kind: 'x', n: 3, tags: [] },
  { id: 'd', n: 4 },
]

describe('a subquery in FROM', () => {
  test.each([
    ['SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.kind FROM c)', [2]],
    ['SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.kind FROM c) AS x', [{ n: 3 }]],
    ['SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags)', [2]],
    ['SELECT VALUE MAX(x.n) FROM (SELECT DISTINCT c.n, c.kind FROM c) x WHERE x.n < 3', [2]],
    ['SELECT VALUE x.n FROM (SELECT c.n FROM c WHERE c.n > 1) x WHERE x.n < 4', [2, 3]],
    ['SELECT VALUE x FROM (SELECT VALUE c.kind FROM c) x', ['x', 'y', 'x']],
    ['SELECT VALUE t FROM (SELECT VALUE c FROM c) x JOIN t IN x.tags', ['p', 'q', 'p']],
    ['SELECT VALUE x.n FROM (SELECT c.n FROM c) x ORDER BY x.n DESC', [4, 3, 2, 1]],
    ['SELECT x.k, SUM(x.n) AS s FROM (SELECT c.kind AS k, c.n FROM c) x GROUP BY x.k', null],
  ])('%s', async (text, expected) => {
    const rows = await rowsOf(text, documents)
    if (expected === null) expect(rows).toHaveLength(3)
    else expect(rows).toEqual(expected)
  })

  test('in pages: each row once', async () => {
    const text = 'SELECT VALUE x.t FROM (SELECT t, c.n FROM c JOIN t IN c.tags) x WHERE x.n < 3'
    for (const maxItemCount of [1, 2, 5]) {
      const pages = await allPages(text, new MemorySource(withRids(documents)), { maxItemCount })
      expect(pages.flat()).toEqual(['p', 'q', 'p'])
    }
  })

  test('DISTINCT counts more values than a page has rows', async () => {
    const many = Array.from({ length: 12_000 }, (_, n) => ({ n: n % 11_000 }))
    const text = 'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c)'
    const [[count]] = (await allPages(
      text,
      new MemorySource(withRids(many), { maxPage: 1000 }),
    )) as [[number]]
    expect(count).toBe(11_000)
  })
})

test('JOIN with a subquery without a name counts its rows', async () => {
  const text = `SELECT VALUE COUNT(1) FROM c JOIN (SELECT VALUE t FROM t IN c.tags)
    JOIN (SELECT VALUE t FROM t IN c.tags WHERE t = 'p')`
  expect(await rowsOf(text, documents)).toEqual([3])
})
