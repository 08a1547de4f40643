import { expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { parseQuery } from '../syntax/parse-query.ts'
import { equalities } from './equalities.ts'

const CASES: readonly (readonly [where: string, found: readonly (readonly [string, Json])[]])[] = [
  ['c.id = "x"', [['id', 'x']]],
  ['"x" = c.id', [['id', 'x']]],
  ['c["id"] = @p', [['id', 'value']]],
  [
    'c.a.b = 1 AND c.pk = null AND c.n > 2',
    [
      ['a.b', 1],
      ['pk', null],
    ],
  ],
  [
    '(c.a = 1 AND c.b = 2) AND c.d = 3',
    [
      ['a', 1],
      ['b', 2],
      ['d', 3],
    ],
  ],
  ['c.a = 1 OR c.b = 2', []],
  ['NOT (c.a = 1)', []],
  ['c.a != 1', []],
  ['c.a = c.b', []],
  ['c.a = undefined', []],
  ['c.a[0] = 1', []],
  ['c.a = 1 = true', []],
  ['c.a IN (1)', []],
  ['c.a = 1 ? true : false', []],
  ['LOWER(c.a) = "x"', []],
]

test.each(CASES)('WHERE %s asks for these values', (where, found) => {
  const query = parseQuery(`SELECT * FROM c WHERE ${where}`)
  const parameters = [{ name: '@p', value: 'value' }]
  expect(equalities(query, parameters)).toEqual(
    found.map(([path, value]) => ({ path: path.split('.'), value })),
  )
})

test('elements of an array are no property of the document', () => {
  expect(equalities(parseQuery('SELECT VALUE x.id FROM x IN c.list WHERE x.id = 1'))).toEqual([])
  const joined = 'SELECT VALUE x FROM c JOIN x IN c.list WHERE x.id = 1 AND c.id = "a"'
  expect(equalities(parseQuery(joined))).toEqual([{ path: ['id'], value: 'a' }])
})

test('what a subquery in FROM asks for counts, what is asked of its rows does not', () => {
  const rows = 'SELECT VALUE x.id FROM (SELECT c.id FROM c WHERE c.pk = "p") AS x WHERE x.id = "a"'
  expect(equalities(parseQuery(rows))).toEqual([{ path: ['pk'], value: 'p' }])
  const distinct = `SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.kind AS pk FROM c WHERE c.pk = "p") AS x
    WHERE x.pk = "k"`
  expect(equalities(parseQuery(distinct))).toEqual([{ path: ['pk'], value: 'p' }])
})

test('a parameter without a value is refused', () => {
  const query = parseQuery('SELECT * FROM c WHERE c.id = @p')
  expect(() => equalities(query)).toThrow(expect.objectContaining({ code: 'ERR_BAD_QUERY' }))
})
