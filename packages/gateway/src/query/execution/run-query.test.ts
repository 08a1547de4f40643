import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import { allPages, MemorySource, rowsOf, runPage, withRids } from '../query-rows.fixture.ts'

const people: readonly JsonObject[] = [
  { id: 'a', name: 'Ann', age: 30, city: 'Rome', tags: ['x', 'y'] },
  { id: 'b', name: 'Bob', age: 25, city: 'Paris', tags: ['y'] },
  { id: 'c', name: 'Cid', age: 35, city: 'Rome', tags: [] },
  { id: 'd', name: 'Dan', age: 25, city: 'Oslo' },
  { id: 'e', name: 'Eve', city: 'Paris', tags: ['x', 'z'] },
]

const mixed: readonly JsonObject[] = [
  { id: 'object', v: { a: 1 } },
  { id: 'string', v: 'text' },
  { id: 'number', v: 5 },
  { id: 'true', v: true },
  { id: 'array', v: [1] },
  { id: 'none' },
  { id: 'null', v: null },
  { id: 'false', v: false },
  { id: 'small', v: -1 },
]

type Row = readonly [text: string, rows: readonly unknown[]]

const TABLES: Readonly<Record<string, readonly (readonly [string, readonly unknown[]])[]>> = {
  projection: [
    ['SELECT c.id FROM c WHERE c.id = "a"', [{ id: 'a' }]],
    ['SELECT c.id AS x, c.age + 1 FROM c WHERE c.id = "a"', [{ x: 'a', $1: 31 }]],
    ['SELECT 1, c.tags[0], c["name"], c FROM c WHERE c.id = "z"', []],
    ['SELECT 1, c.tags[0], c["name"] FROM c WHERE c.id = "a"', [{ $1: 1, $2: 'x', name: 'Ann' }]],
    ['SELECT c.age FROM c WHERE c.id = "e"', [{}]],
    ['SELECT VALUE c.age FROM c', [30, 25, 35, 25]],
    ['SELECT VALUE {"n": c.name, "a": c.age} FROM c WHERE c.id = "e"', [{ n: 'Eve' }]],
    ['SELECT VALUE [c.name, c.age] FROM c WHERE c.id = "e"', [['Eve']]],
    ['SELECT VALUE c._rid FROM c WHERE c.id = "b"', ['rid000001']],
    ['SELECT VALUE r.name FROM root r WHERE r.id = "a"', ['Ann']],
    ['SELECT VALUE Families.id FROM Families WHERE Families.id = "a"', ['a']],
    [
      'SELECT {"__proto__": 1} AS __proto__ FROM c WHERE c.id = "a"',
      [JSON.parse('{"__proto__":{"__proto__":1}}')],
    ],
    ['SELECT 1 AS one', [{ one: 1 }]],
    ['SELECT VALUE 1 + 1', [2]],
    ['SELECT VALUE COUNT(1)', [1]],
  ],
  'FROM and JOIN': [
    ['SELECT VALUE t FROM t IN c.tags', ['x', 'y', 'y', 'x', 'z']],
    ['SELECT * FROM t IN c.tags', ['x', 'y', 'y', 'x', 'z']],
    [
      'SELECT c.id, t FROM c JOIN t IN c.tags WHERE t = "y"',
      [
        { id: 'a', t: 'y' },
        { id: 'b', t: 'y' },
      ],
    ],
    [
      'SELECT VALUE [t, u] FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE c.id = "a"',
      [
        ['x', 'x'],
        ['x', 'y'],
        ['y', 'x'],
        ['y', 'y'],
      ],
    ],
    [
      'SELECT VALUE c.id FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t = "x") AS x',
      ['a', 'e'],
    ],
    ['SELECT * FROM c.age', [30, 25, 35, 25]],
    ['SELECT VALUE a FROM c.age a WHERE a > 25', [30, 35]],
    ['SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = "z")', ['e']],
    [
      'SELECT c.id, ARRAY(SELECT VALUE UPPER(t) FROM t IN c.tags) AS up FROM c WHERE c.id = "a"',
      [{ id: 'a', up: ['X', 'Y'] }],
    ],
  ],
  WHERE: [
    ['SELECT VALUE c.id FROM c WHERE c.age > 26', ['a', 'c']],
    ['SELECT VALUE c.id FROM c WHERE NOT (c.age > 26)', ['b', 'd']],
    ['SELECT VALUE c.id FROM c WHERE c.age != 25', ['a', 'c']],
    ['SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.age)', ['e']],
    ['SELECT VALUE c.id FROM c WHERE c.city IN ("Rome", "Oslo")', ['a', 'c', 'd']],
    ['SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "y")', ['a', 'b']],
    ['SELECT VALUE c.id FROM c WHERE true', ['a', 'b', 'c', 'd', 'e']],
    ['SELECT VALUE c.id FROM c WHERE c.age', []],
    ['SELECT VALUE c.id FROM c WHERE "true"', []],
  ],
  'TOP, OFFSET, LIMIT': [
    ['SELECT TOP 2 VALUE c.id FROM c', ['a', 'b']],
    ['SELECT TOP 0 VALUE c.id FROM c', []],
    ['SELECT TOP 100 VALUE c.id FROM c', ['a', 'b', 'c', 'd', 'e']],
    ['SELECT VALUE c.id FROM c OFFSET 1 LIMIT 2', ['b', 'c']],
    ['SELECT VALUE c.id FROM c OFFSET 4 LIMIT 10', ['e']],
    ['SELECT VALUE c.id FROM c OFFSET 9 LIMIT 10', []],
    ['SELECT VALUE c.id FROM c OFFSET 0 LIMIT 0', []],
    ['SELECT TOP 2 VALUE c.age FROM c WHERE c.id > "c"', [25]],
    ['SELECT TOP 3 VALUE t FROM t IN c.tags', ['x', 'y', 'y']],
    ['SELECT VALUE c.id FROM c ORDER BY c.id DESC OFFSET 1 LIMIT 2', ['d', 'c']],
    ['SELECT TOP 1 VALUE c.id FROM c ORDER BY c.age DESC', ['c']],
    ['SELECT DISTINCT TOP 2 VALUE c.city FROM c', ['Rome', 'Paris']],
    ['SELECT TOP 1 VALUE COUNT(1) FROM c', [5]],
    ['SELECT VALUE COUNT(1) FROM c OFFSET 1 LIMIT 1', []],
  ],
  'ORDER BY': [
    ['SELECT VALUE c.id FROM c ORDER BY c.name DESC', ['e', 'd', 'c', 'b', 'a']],
    ['SELECT VALUE c.id FROM c ORDER BY c.age', ['e', 'b', 'd', 'a', 'c']],
    ['SELECT VALUE c.id FROM c ORDER BY c.age ASC, c.id DESC', ['e', 'd', 'b', 'a', 'c']],
    ['SELECT VALUE c.id FROM c ORDER BY c.city, c.age DESC', ['d', 'b', 'e', 'c', 'a']],
    ['SELECT VALUE c.id FROM c WHERE c.age > 0 ORDER BY c.age * -1', ['c', 'a', 'b', 'd']],
    ['SELECT c.id AS x FROM c ORDER BY x DESC OFFSET 0 LIMIT 1', [{ x: 'e' }]],
    ['SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t DESC', ['z', 'y', 'y', 'x', 'x']],
    ['SELECT VALUE c.age FROM c ORDER BY c.id', [30, 25, 35, 25]],
  ],
  DISTINCT: [
    ['SELECT DISTINCT VALUE c.city FROM c', ['Rome', 'Paris', 'Oslo']],
    ['SELECT DISTINCT c.age FROM c', [{ age: 30 }, { age: 25 }, { age: 35 }, {}]],
    ['SELECT DISTINCT VALUE c.age FROM c', [30, 25, 35]],
    ['SELECT DISTINCT VALUE c.city FROM c ORDER BY c.city DESC', ['Rome', 'Paris', 'Oslo']],
    [
      'SELECT DISTINCT c.city, c.age FROM c WHERE c.age = 25 ORDER BY c.city',
      [
        { city: 'Oslo', age: 25 },
        { city: 'Paris', age: 25 },
      ],
    ],
    ['SELECT DISTINCT VALUE t FROM t IN c.tags', ['x', 'y', 'z']],
    [
      'SELECT DISTINCT VALUE {a: c.age, n: 1} FROM c',
      [{ a: 30, n: 1 }, { a: 25, n: 1 }, { a: 35, n: 1 }, { n: 1 }],
    ],
  ],
  aggregates: [
    ['SELECT VALUE COUNT(1) FROM c', [5]],
    ['SELECT COUNT(1) FROM c', [{ $1: 5 }]],
    ['SELECT COUNT(1) AS n, MAX(c.age) AS m FROM c', [{ n: 5, m: 35 }]],
    ['SELECT VALUE COUNT(c.age) FROM c', [4]],
    ['SELECT VALUE SUM(c.age) FROM c', [115]],
    ['SELECT VALUE AVG(c.age) FROM c', [28.75]],
    ['SELECT VALUE MIN(c.age) FROM c', [25]],
    ['SELECT VALUE MAX(c.name) FROM c', ['Eve']],
    ['SELECT VALUE SUM(c.age) / COUNT(1) FROM c', [23]],
    ['SELECT VALUE {n: COUNT(1), s: SUM(c.age)} FROM c WHERE c.city = "Rome"', [{ n: 2, s: 65 }]],
    ['SELECT VALUE SUM(c.name) FROM c', []],
    ['SELECT SUM(c.name) AS s FROM c', [{}]],
    ['SELECT VALUE AVG(c.name) FROM c', []],
    ['SELECT VALUE COUNT(1) FROM c WHERE false', [0]],
    ['SELECT VALUE SUM(c.age) FROM c WHERE false', [0]],
    ['SELECT VALUE AVG(c.age) FROM c WHERE false', []],
    ['SELECT VALUE MIN(c.age) FROM c WHERE false', []],
    ['SELECT MIN(c.age) AS m, COUNT(1) AS n FROM c WHERE false', [{ n: 0 }]],
    ['SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags', [5]],
    ['SELECT VALUE MIN(c.tags) FROM c', []],
    ['SELECT VALUE COUNT(1) > 4 FROM c', [true]],
  ],
  'GROUP BY': [
    [
      'SELECT c.city, COUNT(1) AS n FROM c GROUP BY c.city',
      [
        { city: 'Rome', n: 2 },
        { city: 'Paris', n: 2 },
        { city: 'Oslo', n: 1 },
      ],
    ],
    [
      'SELECT c.age, COUNT(1) AS n FROM c GROUP BY c.age',
      [{ age: 30, n: 1 }, { age: 25, n: 2 }, { age: 35, n: 1 }, { n: 1 }],
    ],
    ['SELECT VALUE c.city FROM c GROUP BY c.city', ['Rome', 'Paris', 'Oslo']],
    [
      'SELECT c.city, MAX(c.age) AS m FROM c WHERE c.id > "b" GROUP BY c.city',
      [{ city: 'Rome', m: 35 }, { city: 'Oslo', m: 25 }, { city: 'Paris' }],
    ],
    [
      'SELECT VALUE {k: UPPER(c.city), n: SUM(c.age)} FROM c GROUP BY UPPER(c.city)',
      [
        { k: 'ROME', n: 65 },
        { k: 'PARIS', n: 25 },
        { k: 'OSLO', n: 25 },
      ],
    ],
    [
      'SELECT c.city, c.age FROM c WHERE c.age = 25 GROUP BY c.city, c.age',
      [
        { city: 'Paris', age: 25 },
        { city: 'Oslo', age: 25 },
      ],
    ],
    [
      'SELECT t, COUNT(1) AS n FROM c JOIN t IN c.tags GROUP BY t',
      [
        { t: 'x', n: 2 },
        { t: 'y', n: 2 },
        { t: 'z', n: 1 },
      ],
    ],
    ['SELECT COUNT(1) AS n FROM c WHERE false GROUP BY c.city', []],
    ['SELECT "k" AS k, COUNT(1) AS n FROM c GROUP BY c.nothing', [{ k: 'k', n: 5 }]],
    ['SELECT c.city FROM c GROUP BY c.city OFFSET 1 LIMIT 1', [{ city: 'Paris' }]],
  ],
} satisfies Record<string, readonly Row[]>

for (const [name, rows] of Object.entries(TABLES)) {
  describe(`a query: ${name}`, () => {
    test.each(rows)('%s', async (text, expected) => {
      expect(await rowsOf(text, people)).toStrictEqual(expected)
    })
  })
}

describe('the order of types', () => {
  const ascending = [
    'none',
    'null',
    'false',
    'true',
    'small',
    'number',
    'string',
    'array',
    'object',
  ]

  test('is undefined, null, booleans, numbers, strings, arrays, objects; DESC turns it round', async () => {
    expect(await rowsOf('SELECT VALUE c.id FROM c ORDER BY c.v', mixed)).toEqual(ascending)
    expect(await rowsOf('SELECT VALUE c.id FROM c ORDER BY c.v DESC', mixed)).toEqual(
      ascending.toReversed(),
    )
  })

  test('rows without the value are left out where the host asks for it, of one expression only', async () => {
    const request = { orderByUndefined: 'leave-out' } as const
    expect(await rowsOf('SELECT VALUE c.id FROM c ORDER BY c.v', mixed, request)).toEqual(
      ascending.slice(1),
    )
    expect(await rowsOf('SELECT VALUE c.id FROM c ORDER BY c.v, c.id', mixed, request)).toEqual(
      ascending,
    )
  })

  test('MIN and MAX go by it among primitives, and are undefined with others', async () => {
    const where = 'WHERE IS_PRIMITIVE(c.v)'
    expect(await rowsOf(`SELECT VALUE MIN(c.v) FROM c ${where}`, mixed)).toEqual([null])
    expect(await rowsOf(`SELECT VALUE MAX(c.v) FROM c ${where}`, mixed)).toEqual(['text'])
    expect(await rowsOf('SELECT VALUE MAX(c.v) FROM c', mixed)).toEqual([])
  })
})

describe('parameters', () => {
  test('stand for TOP, OFFSET and LIMIT', async () => {
    const parameters = { n: 2, o: 1 }
    expect(await rowsOf('SELECT TOP @n VALUE c.id FROM c', people, { parameters })).toHaveLength(2)
    const text = 'SELECT VALUE c.id FROM c OFFSET @o LIMIT @n'
    expect(await rowsOf(text, people, { parameters })).toEqual(['b', 'c'])
  })

  test.each([
    ['SELECT * FROM c WHERE c.a = @missing', {}, '@missing'],
    ['SELECT TOP @n * FROM c', { n: -1 }, 'TOP takes a whole number from 0, got -1'],
    ['SELECT TOP @n * FROM c', { n: '1' }, 'TOP takes'],
    ['SELECT * FROM c OFFSET @n LIMIT 1', { n: 1.5 }, 'OFFSET takes'],
  ])('are refused: %s', async (text, parameters, message) => {
    await expect(rowsOf(text, people, { parameters })).rejects.toMatchObject({
      code: 'ERR_BAD_QUERY',
      message: expect.stringContaining(message),
    })
  })
})

describe('a page', () => {
  const source = (): MemorySource => new MemorySource(withRids(people))

  test('has as many rows as asked for, and the next ones follow', async () => {
    const pages = await allPages('SELECT VALUE c.id FROM c', source(), { maxItemCount: 2 })
    expect(pages).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  })

  test('of TOP ends with it, without a further page', async () => {
    for (const text of [
      'SELECT TOP 4 VALUE c.id FROM c',
      'SELECT TOP 4 VALUE c.id FROM c ORDER BY c.id',
    ]) {
      const pages = await allPages(text, source(), { maxItemCount: 2 })
      expect(pages).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ])
    }
  })

  test('stops reading when it is full', async () => {
    const many = new MemorySource(withRids(Array.from({ length: 100 }, () => ({}))), {
      maxPage: 10,
    })
    const page = await runPage('SELECT * FROM c', many, { maxItemCount: 5 })
    expect(page.items).toHaveLength(5)
    expect(many.reads).toBe(1)
    expect(page.examined).toBe(5)
  })

  test('of a condition that few documents meet ends after so many, be it empty', async () => {
    const many = new MemorySource(withRids(Array.from({ length: 100 }, (_, n) => ({ n }))), {
      maxPage: 10,
    })
    const text = 'SELECT VALUE c.n FROM c WHERE c.n = 95'
    const first = await runPage(text, many, { maxExaminedPerPage: 30 })
    expect(first).toMatchObject({ items: [], examined: 30 })
    expect(first.continuation).toBeDefined()
    expect((await allPages(text, many, { maxExaminedPerPage: 30 })).flat()).toEqual([95])
  })

  test('may end among the rows of one document', async () => {
    const joined = new MemorySource(
      withRids([{ list: [1, 2, 3, 4, 5] }, { list: [6] }, { list: [7, 8] }]),
    )
    const text = 'SELECT VALUE x FROM c JOIN x IN c.list'
    const pages = await allPages(text, joined, { maxItemCount: 2 })
    expect(pages.flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(pages[0]).toEqual([1, 2])
  })

  test('ends early when its rows are large', async () => {
    const large = withRids(
      Array.from({ length: 12 }, (_, n) => ({ n, text: 'x'.repeat(1_000_000) })),
    )
    for (const text of [
      'SELECT * FROM c',
      'SELECT * FROM c ORDER BY c.n DESC',
      'SELECT DISTINCT * FROM c',
    ]) {
      const pages = await allPages(text, new MemorySource(large))
      expect(pages.length).toBeGreaterThan(2)
      expect(pages.flat()).toHaveLength(12)
    }
  })

  test.each([0, -2, 1.5, Number.NaN])('cannot have %s rows', async (maxItemCount) => {
    await expect(runPage('SELECT * FROM c', source(), { maxItemCount })).rejects.toMatchObject({
      code: 'ERR_BAD_QUERY',
    })
  })

  test('is not made once the caller has gone', async () => {
    const controller = new AbortController()
    controller.abort(new Error('gone'))
    await expect(
      runPage('SELECT * FROM c', source(), { signal: controller.signal }),
    ).rejects.toThrow('gone')
  })
})
