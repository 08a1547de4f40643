import type { Container, SqlQuerySpec } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container

const CITIES = [
  {
    id: 'berlin',
    pk: 'de',
    name: 'Berlin',
    people: 3_700_000,
    tags: ['big', 'capital'],
    river: 'Spree',
  },
  {
    id: 'bonn',
    pk: 'de',
    name: 'Bonn',
    people: 330_000,
    tags: ['old'],
    river: 'Rhine',
    capital: false,
  },
  {
    id: 'paris',
    pk: 'fr',
    name: 'Paris',
    people: 2_100_000,
    tags: ['big', 'capital'],
    river: 'Seine',
  },
  { id: 'lyon', pk: 'fr', name: 'Lyon', people: 520_000, tags: [], river: null },
  {
    id: 'oslo',
    pk: 'no',
    name: 'Oslo',
    people: 700_000,
    tags: ['capital'],
    mayor: { name: 'Ann', age: 40 },
  },
  { id: 'rome', pk: 'it', name: 'ROME', people: 2_800_000.5, tags: ['big', 'capital', 'old'] },
  { id: 'none', name: 'Nowhere' },
]

beforeAll(async () => {
  interop = await openInterop()
  container = await interop.container({ throughput: 20_000 })
  for (const city of CITIES) await container.items.create(city)
})
afterAll(() => interop.close())

async function rows(query: string | SqlQuerySpec): Promise<unknown[]> {
  const { resources } = await container.items.query<unknown>(query).fetchAll()
  return resources
}

/** The ids that a condition finds. */
async function found(
  where: string,
  parameters: SqlQuerySpec['parameters'] = [],
): Promise<unknown[]> {
  const query = `SELECT VALUE c.id FROM c WHERE ${where}`
  return (await rows({ query, parameters })).map(String).toSorted()
}

describe('Queries: SELECT and FROM', () => {
  test.each([
    'SELECT * FROM c',
    'select * from root',
    'SELECT * FROM root r',
    'SELECT * FROM Cities c',
    'SELECT * FROM Families AS f',
    'SELECT * FROM c WHERE true',
  ])('%s gives all documents with their system properties', async (query) => {
    const all = await rows(query)
    expect(all).toHaveLength(CITIES.length)
    expect(all[0]).toMatchObject({ id: expect.any(String), _rid: expect.any(String) })
  })

  test('fields, with the names of their last step', async () => {
    expect(await rows("SELECT c.id, c.mayor.age FROM c WHERE c.id = 'oslo'")).toEqual([
      { id: 'oslo', age: 40 },
    ])
  })

  test('fields with AS, and one that is missing', async () => {
    expect(await rows("SELECT c.name AS city, c.none FROM c WHERE c.id = 'bonn'")).toEqual([
      { city: 'Bonn' },
    ])
  })

  test('VALUE gives bare values, of every kind', async () => {
    expect(await rows("SELECT VALUE c.name FROM c WHERE c.pk = 'no'")).toEqual(['Oslo'])
    expect(await rows("SELECT VALUE c.mayor FROM c WHERE c.pk = 'no'")).toEqual([
      { name: 'Ann', age: 40 },
    ])
  })

  test('VALUE leaves out documents that do not have it', async () => {
    expect(await rows('SELECT VALUE c.mayor.name FROM c')).toEqual(['Ann'])
  })

  test('objects and arrays are made in SELECT', async () => {
    const query = "SELECT VALUE { n: c.name, list: [c.people, 1, 'x'] } FROM c WHERE c.id = 'bonn'"
    expect(await rows(query)).toEqual([{ n: 'Bonn', list: [330_000, 1, 'x'] }])
  })

  test('brackets name properties and places in lists', async () => {
    expect(await rows(`SELECT VALUE c["tags"][1] FROM c WHERE c["id"] = "rome"`)).toEqual([
      'capital',
    ])
  })

  test('arithmetic, concatenation, ?: and ??', async () => {
    const query =
      "SELECT VALUE [c.people / 1000 + 1, 7 % 4, c.name || '!', c.people > 1000000 ? 'big' : 'small', c.none ?? 'default'] FROM c WHERE c.id = 'bonn'"
    expect(await rows(query)).toEqual([[331, 3, 'Bonn!', 'small', 'default']])
  })

  test('a query without FROM is one row', async () => {
    expect(await rows('SELECT VALUE 1 + 2')).toEqual([3])
  })

  test('FROM c IN goes through a list', async () => {
    const query = 'SELECT VALUE t FROM t IN c.tags'
    expect((await rows(query)).length).toBe(9)
  })

  test('JOIN makes a row of each entry', async () => {
    const query = "SELECT c.id, t AS tag FROM c JOIN t IN c.tags WHERE c.id = 'rome'"
    expect(await rows(query)).toEqual([
      { id: 'rome', tag: 'big' },
      { id: 'rome', tag: 'capital' },
      { id: 'rome', tag: 'old' },
    ])
  })

  test('FROM a property of the documents', async () => {
    expect(await rows('SELECT VALUE m.name FROM c.mayor m')).toEqual(['Ann'])
  })
})

describe('Queries: WHERE', () => {
  test.each([
    ["c.id = 'bonn'", ['bonn']],
    ["c.id != 'bonn' AND c.pk = 'de'", ['berlin']],
    ["c.pk <> 'de' AND c.pk <> 'fr'", ['oslo', 'rome']],
    ['c.people < 520000', ['bonn']],
    ['c.people <= 520000', ['bonn', 'lyon']],
    ['c.people > 2800000', ['berlin', 'rome']],
    ['c.people >= 2800000.5', ['berlin', 'rome']],
    ["c.pk = 'de' OR c.pk = 'no'", ['berlin', 'bonn', 'oslo']],
    ["NOT (c.pk = 'de') AND c.people > 0", ['lyon', 'oslo', 'paris', 'rome']],
    ["c.pk IN ('it', 'no')", ['oslo', 'rome']],
    ["c.pk NOT IN ('it', 'no', 'de')", ['lyon', 'paris']],
    ['c.people BETWEEN 500000 AND 800000', ['lyon', 'oslo']],
    ["c.name LIKE 'B%'", ['berlin', 'bonn']],
    ["c.name LIKE '_o_n'", ['bonn']],
    ["c.name LIKE '%o%' AND c.name NOT LIKE 'B%'", ['lyon', 'none', 'oslo']],
    ["c.name LIKE '[LP]%'", ['lyon', 'paris']],
    ['IS_DEFINED(c.mayor)', ['oslo']],
    ['NOT IS_DEFINED(c.pk)', ['none']],
    ['c.river = null', ['lyon']],
    ['IS_NULL(c.river)', ['lyon']],
    ['c.capital = false', ['bonn']],
    ["ARRAY_CONTAINS(c.tags, 'old')", ['bonn', 'rome']],
    ['ARRAY_LENGTH(c.tags) = 3', ['rome']],
    ["STARTSWITH(c.name, 'b', true)", ['berlin', 'bonn']],
    ["ENDSWITH(c.name, 'on')", ['lyon']],
    ["CONTAINS(c.name, 'ar')", ['paris']],
    ["LOWER(c.name) = 'rome'", ['rome']],
    ["UPPER(c.name) = 'OSLO'", ['oslo']],
    ['LENGTH(c.name) = 6', ['berlin']],
    ["SUBSTRING(c.name, 0, 2) = 'Pa'", ['paris']],
    ["CONCAT(c.pk, '-', c.id) = 'no-oslo'", ['oslo']],
    ["INDEX_OF(c.name, 'y') = 1", ['lyon']],
    ["REPLACE(c.name, 'o', '0') = 'B0nn'", ['bonn']],
    ["REVERSE(c.id) = 'nnob'", ['bonn']],
    ["TRIM(CONCAT(' ', c.id, ' ')) = 'bonn'", ['bonn']],
    ["LEFT(c.name, 1) = 'O'", ['oslo']],
    ["RIGHT(c.name, 2) = 'is'", ['paris']],
    ["ToString(c.mayor.age) = '40'", ['oslo']],
    ['FLOOR(c.people) = 2800000', ['rome']],
    ['CEILING(c.people) = 2800001', ['rome']],
    ['ROUND(c.people / 1000000) = 4', ['berlin']],
    ['ABS(c.people - 520001) = 1', ['lyon']],
    ['POWER(2, 3) = 8 AND c.mayor.age = 40', ['oslo']],
    [
      'IS_STRING(c.river) AND IS_NUMBER(c.people) AND IS_ARRAY(c.tags)',
      ['berlin', 'bonn', 'paris'],
    ],
    ['IS_OBJECT(c.mayor)', ['oslo']],
    ['IS_BOOL(c.capital)', ['bonn']],
    ['IS_PRIMITIVE(c.river) AND NOT IS_STRING(c.river)', ['lyon']],
    ["EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'old')", ['bonn', 'rome']],
    ["c.mayor.name = 'Ann'", ['oslo']],
    ['c.none = 1', []],
    ["c.people = 'text'", []],
  ])('WHERE %s', async (where, ids) => {
    expect(await found(where)).toEqual(ids)
  })

  test('parameters stand for values of every kind', async () => {
    const people = [
      { name: '@least', value: 2_000_000 },
      { name: '@pks', value: ['de', 'it'] },
    ]
    expect(await found('c.people > @least AND ARRAY_CONTAINS(@pks, c.pk)', people)).toEqual([
      'berlin',
      'rome',
    ])
    expect(await found('c.river = @river', [{ name: '@river', value: null }])).toEqual(['lyon'])
    expect(await found('c.capital = @no', [{ name: '@no', value: false }])).toEqual(['bonn'])
  })

  test('text with quotes and escapes', async () => {
    const odd = await interop.container()
    await odd.items.create({ id: 'a', pk: 'x', text: `it's "odd" \\ ü` })
    const query = (text: string) => odd.items.query<unknown>(text).fetchAll()
    const literals = [String.raw`'it\'s "odd" \\ ü'`, String.raw`"it's \"odd\" \\ \u00fc"`]
    for (const literal of literals) {
      const { resources } = await query(`SELECT VALUE c.id FROM c WHERE c.text = ${literal}`)
      expect(resources).toEqual(['a'])
    }
  })

  test('a condition on the partition key of the option reads that partition alone', async () => {
    const query = container.items.query<string>('SELECT VALUE c.id FROM c', { partitionKey: 'de' })
    expect((await query.fetchAll()).resources.toSorted()).toEqual(['berlin', 'bonn'])
  })

  test('keywords in any case, comments and line breaks', async () => {
    const query = `select value c.id -- the city\nFroM c\n  wHeRe c.pk = 'no'`
    expect(await rows(query)).toEqual(['oslo'])
  })
})

describe('Queries: refusals', () => {
  test.each([
    ['SELECT * FROM c WHERE ST_DISTANCE(c.a, c.b) < 5', 'ST_DISTANCE'],
    ["SELECT * FROM c WHERE REGEXMATCH(c.a, '.*')", 'REGEXMATCH'],
    ["SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.text, ['x'])", 'RANK'],
    ['SELECT TOP 5 c.id FROM c ORDER BY VectorDistance(c.v, [1,2])', 'VECTORDISTANCE'],
    ['SELECT udf.mine(c.a) FROM c', 'udf'],
    ['SELECT c.a FROM c GROUP BY c.a HAVING COUNT(1) > 1', 'HAVING'],
    ['SELECT * FROM c UNION SELECT * FROM c', 'UNION'],
    ['SELECT * FROM c WHERE NO_SUCH(c.a)', 'NO_SUCH'],
    ['SELECT c.b, COUNT(1) FROM c GROUP BY c.a', 'GROUP BY'],
    ['SELECT c.a FROM c GROUP BY c.a ORDER BY c.a', 'ORDER BY together with GROUP BY'],
  ])('%s is 400 and names %s', async (query, construct) => {
    const error = await refusal(container.items.query(query).fetchAll())
    expect(error.code).toBe(400)
    expect(error.message.toUpperCase()).toContain(construct.toUpperCase())
  })

  test.each([
    'SELEC * FROM c',
    'SELECT * FROM',
    'SELECT FROM c',
    "SELECT * FROM c WHERE c.a = 'open",
    'SELECT * FROM c WHERE',
    'SELECT * FROM c WHERE c.a = @missing',
    'SELECT TOP -1 * FROM c',
    'SELECT * FROM c OFFSET 1',
    'SELECT * FROM c WHERE x.a = 1',
    'SELECT * FROM c; DROP c',
    '',
  ])('%j is 400', async (query) => {
    expect((await refusal(container.items.query(query).fetchAll())).code).toBe(400)
  })

  test('a continuation that is none is 400, in the words that clients look for', async () => {
    for (const query of [
      'SELECT * FROM c',
      'SELECT * FROM c WHERE true',
      'SELECT * FROM c ORDER BY c.id',
    ]) {
      const junk = container.items.query(query, { continuationToken: 'junk' })
      const error = await refusal(junk.fetchNext())
      expect(error.code).toBe(400)
      expect(error.message).toContain('Invalid Continuation Token')
    }
  })

  test('a continuation of another query is 400', async () => {
    const first = container.items.query('SELECT * FROM c WHERE true', { maxItemCount: 1 })
    const { continuationToken } = await first.fetchNext()
    const other = container.items.query('SELECT * FROM c WHERE 1 = 1', { continuationToken })
    expect((await refusal(other.fetchNext())).code).toBe(400)
  })
})
