import { expect, test } from 'vitest'
import { rowsOf, type RunRequest } from '../query-rows.fixture.ts'

const documents = [
  { id: 'a', name: 'Ann', tags: ['x', 'y'], price: 10, off: 0.1 },
  { id: 'b', name: 'BOB', tags: ['x'], price: 5 },
  { id: 'c', tags: [] },
]

function rows(
  text: string,
  computedProperties: RunRequest['computedProperties'],
): Promise<unknown[]> {
  return rowsOf(text, documents, { computedProperties })
}

const LOWER = { name: 'low', query: 'SELECT VALUE LOWER(c.name) FROM c' }
const PAYS = { name: 'pays', query: 'SELECT VALUE c.price * (1 - (c.off ?? 0)) FROM c' }
const TAGS = {
  name: 'all',
  query: 'SELECT VALUE ARRAY(SELECT VALUE t FROM t IN r.tags) FROM root r',
}
const OBJECT = { name: 'o', query: 'SELECT VALUE {first: c.tags[0]} FROM c' }

test('computed properties stand wherever a property may, and are undefined where they have no value', async () => {
  expect(await rows('SELECT c.id, c.low, c["pays"] FROM c', [LOWER, PAYS])).toEqual([
    { id: 'a', low: 'ann', pays: 9 },
    { id: 'b', low: 'bob', pays: 5 },
    { id: 'c' },
  ])
  expect(await rows("SELECT VALUE c.id FROM c WHERE c.low = 'bob'", [LOWER])).toEqual(['b'])
  expect(await rows('SELECT VALUE c.id FROM c ORDER BY c.pays', [PAYS])).toEqual(['c', 'b', 'a'])
  expect(await rows('SELECT VALUE SUM(c.pays) FROM c', [PAYS])).toEqual([14])
  expect(await rows('SELECT c.low, COUNT(1) AS n FROM c GROUP BY c.low', [LOWER])).toHaveLength(3)
  expect(await rows('SELECT VALUE c.o.first FROM c', [OBJECT])).toEqual(['x', 'x'])
})

test('a computed property with a subquery does not disturb the rows around it', async () => {
  const text = 'SELECT c.id, t, c.all AS tags FROM c JOIN t IN c.tags'
  expect(await rows(text, [TAGS])).toEqual([
    { id: 'a', t: 'x', tags: ['x', 'y'] },
    { id: 'a', t: 'y', tags: ['x', 'y'] },
    { id: 'b', t: 'x', tags: ['x'] },
  ])
})

test('subqueries in FROM see them too, and what is asked of their rows does not', async () => {
  const plain = "SELECT VALUE x.l FROM (SELECT c.low AS l FROM c) x WHERE x.l = 'ann'"
  expect(await rows(plain, [LOWER])).toEqual(['ann'])
  const distinct = 'SELECT VALUE MAX(x.low) FROM (SELECT DISTINCT c.low FROM c) x'
  expect(await rows(distinct, [LOWER])).toEqual(['bob'])
  const renamed = 'SELECT VALUE COUNT(x.low) FROM (SELECT DISTINCT c.low AS other FROM c) x'
  expect(await rows(renamed, [LOWER])).toEqual([0])
})

test('computed properties are in no whole document, and hold for the document alone', async () => {
  expect(await rows("SELECT * FROM c WHERE c.low = 'bob'", [LOWER])).toEqual([
    expect.not.objectContaining({ low: 'bob' }),
  ])
  expect(await rows('SELECT VALUE t.low FROM t IN c.tags', [LOWER])).toEqual([])
})

test.each([
  'SELECT VALUE LOWER(c.name) FROM c WHERE c.name != ""',
  'SELECT LOWER(c.name) FROM c',
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT VALUE REGEXMATCH(c.name, "a") FROM c',
  'nonsense',
])(
  'a definition that cannot be served is refused by its name when a query asks for it: %s',
  async (query) => {
    const properties = [{ name: 'low', query }]
    await expect(rows('SELECT c.low FROM c', properties)).rejects.toMatchObject({
      code: 'ERR_BAD_QUERY',
      message: expect.stringContaining("'low'"),
    })
    expect(await rows('SELECT VALUE c.id FROM c', properties)).toEqual(['a', 'b', 'c'])
  },
)
