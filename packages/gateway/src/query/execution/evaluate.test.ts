import { describe, expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { valueOf } from '../query-rows.fixture.ts'

const document = {
  id: 'x',
  n: 5,
  zero: 0,
  s: 'text',
  t: true,
  f: false,
  nil: null,
  a: [1, 'two', { three: 3 }],
  o: { p: { q: 'deep' }, 'a b': 1, value: 2 },
  key: 'n',
}

type Row = readonly [expression: string, value: Json]

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  literals: [
    ['1', 1],
    ['1.5e2', 150],
    ['0x1F', 31],
    ['"double"', 'double'],
    ["'single'", 'single'],
    [String.raw`'it\'s \u0041\n\\'`, "it's A\n\\"],
    ['true', true],
    ['FALSE', false],
    ['null', null],
    ['undefined', undefined],
    ['[1, undefined, 2]', [1, 2]],
    ['{ "a": 1, b: undefined, c: [c.n] }', { a: 1, c: [5] }],
    ['{}', {}],
    ['[]', []],
  ],
  paths: [
    ['c.n', 5],
    ['c["n"]', 5],
    ["c['o']['p'].q", 'deep'],
    ['c.o["a b"]', 1],
    ['c.o.value', 2],
    ['c.a[0]', 1],
    ['c.a[2].three', 3],
    ['c.a[3]', undefined],
    ['c.a[-1]', undefined],
    ['c.a.length', undefined],
    ['c.a["0"]', undefined],
    ['c.s[0]', undefined],
    ['c.s.length', undefined],
    ['c.missing', undefined],
    ['c.missing.deeper', undefined],
    ['c.nil.deeper', undefined],
    ['c.constructor', undefined],
    ['c.__proto__', undefined],
    ['c.N', undefined],
    ['c[c.key]', 5],
    ['[10, 20][1]', 20],
    ['{a: 7}.a', 7],
  ],
  'equality: false over types, undefined over undefined': [
    ['c.n = 5', true],
    ['c.n = 6', false],
    ['c.n != 6', true],
    ['c.n <> 5', false],
    ['c.n = "5"', false],
    ['c.n != "5"', true],
    ['c.n != null', true],
    ['c.nil = null', true],
    ['c.nil != null', false],
    ['c.t = true', true],
    ['c.t = 1', false],
    ['c.missing = null', undefined],
    ['c.missing != null', undefined],
    ['c.missing = undefined', undefined],
    ['c.missing != 1', undefined],
    ['NOT (c.missing = 1)', undefined],
    ['c.o.p = {"q": "deep"}', true],
    ['{a: 1, b: 2} = {b: 2, a: 1}', true],
    ['{a: 1} = {a: 1, b: 2}', false],
    ['c.a = [1, "two", {"three": 3}]', true],
    ['c.a = [1, "two"]', false],
    ['[1] = {"0": 1}', false],
    ['0 = -0', true],
  ],
  'order comparisons: undefined over types, arrays and objects': [
    ['c.n > 4', true],
    ['c.n >= 5', true],
    ['c.n < 5', false],
    ['c.n <= 5', true],
    ['"a" < "b"', true],
    ['"B" < "a"', true],
    ['"" < "a"', true],
    ['false < true', true],
    ['null <= null', true],
    ['null < null', false],
    ['c.n > "4"', undefined],
    ['c.n > null', undefined],
    ['c.missing > 4', undefined],
    ['[1] < [2]', undefined],
    ['[1] <= [1]', undefined],
    ['{} < {}', undefined],
    ['NOT (c.n > "4")', undefined],
  ],
  'three-valued logic': [
    ['true AND true', true],
    ['true AND false', false],
    ['true AND undefined', undefined],
    ['false AND undefined', false],
    ['undefined AND false', false],
    ['undefined AND undefined', undefined],
    ['true OR undefined', true],
    ['undefined OR true', true],
    ['false OR undefined', undefined],
    ['false OR false', false],
    ['NOT true', false],
    ['NOT undefined', undefined],
    ['NOT NOT true', true],
    ['1 AND true', undefined],
    ['1 AND false', false],
    ['"x" OR true', true],
    ['NOT 1', undefined],
    ['NOT null', undefined],
  ],
  precedence: [
    ['true OR false AND false', true],
    ['NOT false AND false', false],
    ['NOT c.n = 6', true],
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 3 - 2', 5],
    ['100 / 10 / 5', 2],
    ['7 % 4 * 2', 6],
    ['-c.n + 1', -4],
    ['- -5', 5],
    ['+c.n', 5],
    ['1 + 1 = 2', true],
    ['c.n > 3 = true', true],
    ['1 | 2 = 3', true],
    ['"a" || "b" = "ab"', true],
    ['c.missing ?? 1 = 1', true],
    ['true ? 1 : false ? 2 : 3', 1],
    ['false ? 1 : false ? 2 : 3', 3],
    ['c.n BETWEEN 1 AND 5 AND false', false],
  ],
  arithmetic: [
    ['7 / 2', 3.5],
    ['7 % 4', 3],
    ['-7 % 4', -3],
    ['1 / 0', undefined],
    ['0 / 0', undefined],
    ['1 % 0', undefined],
    ['1e308 * 10', undefined],
    ['c.n + "1"', undefined],
    ['c.n + null', undefined],
    ['c.n + c.missing', undefined],
    ['-c.s', undefined],
    ['"a" || "b"', 'ab'],
    ['"a" || 1', undefined],
    ['6 & 3', 2],
    ['6 | 3', 7],
    ['6 ^ 3', 5],
    ['~5', -6],
    ['1 << 4', 16],
    ['-16 >> 2', -4],
    ['-1 >>> 28', 15],
  ],
  'IN, BETWEEN': [
    ['c.n IN (1, 5)', true],
    ['c.n IN (1, 2)', false],
    ['c.n IN ("5")', false],
    ['c.n NOT IN (1, 2)', true],
    ['c.n NOT IN (1, 5)', false],
    ['c.missing IN (1)', undefined],
    ['c.missing NOT IN (1)', undefined],
    ['c.missing IN (undefined)', undefined],
    ['c.nil IN (null)', true],
    ['c.o.p IN ({"q": "deep"})', true],
    ['c.n BETWEEN 5 AND 6', true],
    ['c.n BETWEEN 6 AND 7', false],
    ['c.n NOT BETWEEN 6 AND 7', true],
    ['c.s BETWEEN "a" AND "z"', true],
    ['c.s BETWEEN 1 AND 9', undefined],
    ['c.n BETWEEN 6 AND "z"', false],
    ['c.n BETWEEN 1 AND "z"', undefined],
    ['c.n BETWEEN 1 + 1 AND 2 * 3', true],
  ],
  LIKE: [
    ['c.s LIKE "text"', true],
    ['c.s LIKE "t%"', true],
    ['c.s LIKE "%x%"', true],
    ['c.s LIKE "t__t"', true],
    ['c.s LIKE "t_t"', false],
    ['c.s LIKE "%"', true],
    ['c.s LIKE ""', false],
    ['"" LIKE "%"', true],
    ['c.s LIKE "TEXT"', false],
    ['c.s NOT LIKE "a%"', true],
    ['c.s LIKE "[a-t]ext"', true],
    ['c.s LIKE "[^a-t]ext"', false],
    ['"20%" LIKE "20^%" ESCAPE "^"', true],
    ['"20x" LIKE "20^%" ESCAPE "^"', false],
    ['"20%" LIKE "20[%]"', true],
    ['"a.b" LIKE "a.b"', true],
    ['"axb" LIKE "a.b"', false],
    ['"aaab" LIKE "%a%b"', true],
    ['"abcabc" LIKE "%abc"', true],
    ['"]" LIKE "]"', true],
    ['"[" LIKE "["', true],
    ['c.n LIKE "5"', undefined],
    ['c.missing LIKE "%"', undefined],
    ['c.s LIKE c.missing', undefined],
  ],
  'ternary and coalesce': [
    ['c.t ? "yes" : "no"', 'yes'],
    ['c.f ? "yes" : "no"', 'no'],
    ['c.missing ? "yes" : "no"', 'no'],
    ['c.n ? "yes" : "no"', 'no'],
    ['c.missing ?? "default"', 'default'],
    ['c.nil ?? "default"', null],
    ['c.missing ?? c.gone ?? 3', 3],
    ['c.f ?? true', false],
  ],
  subqueries: [
    ['EXISTS(SELECT VALUE x FROM x IN c.a WHERE x = "two")', true],
    ['EXISTS(SELECT VALUE x FROM x IN c.a WHERE x = "none")', false],
    ['EXISTS(SELECT VALUE x FROM x IN c.missing)', false],
    ['NOT EXISTS(SELECT VALUE x FROM x IN c.missing)', true],
    ['ARRAY(SELECT VALUE x FROM x IN c.a WHERE IS_NUMBER(x))', [1]],
    ['ARRAY(SELECT x AS y FROM x IN [1, 2])', [{ y: 1 }, { y: 2 }]],
    ['ARRAY(SELECT DISTINCT VALUE x FROM x IN [1, 2, 1])', [1, 2]],
    ['(SELECT VALUE COUNT(1) FROM x IN c.a)', 3],
    ['(SELECT VALUE SUM(x.v * c.n) FROM x IN [{v: 1}, {v: 2}])', 15],
    ['(SELECT VALUE c.n)', 5],
    ['(SELECT VALUE x FROM x IN [])', undefined],
    [
      'ARRAY(SELECT VALUE [x, y] FROM x IN [1, 2] JOIN y IN [3])',
      [
        [1, 3],
        [2, 3],
      ],
    ],
    ['ARRAY(SELECT VALUE ARRAY(SELECT VALUE y + x FROM y IN [10]) FROM x IN [1, 2])', [[11], [12]]],
    ['(SELECT {m: MAX(x), n: c.n} AS r FROM x IN [1, 9]).r', { m: 9, n: 5 }],
  ],
}

for (const [name, rows] of Object.entries(TABLES)) {
  describe(`an expression: ${name}`, () => {
    test.each(rows)('%s', async (expression, value) => {
      expect(await valueOf(expression, document)).toEqual(value)
    })
  })
}

describe('an expression', () => {
  test('reads parameters, also whole arrays and objects', async () => {
    const parameters = { n: 5, list: [1, 5], o: { q: 'deep' }, name: 'n' }
    expect(await valueOf('c.n = @n', document, parameters)).toBe(true)
    expect(await valueOf('ARRAY_CONTAINS(@list, c.n)', document, parameters)).toBe(true)
    expect(await valueOf('c.o.p = @o', document, parameters)).toBe(true)
    expect(await valueOf('c[@name]', document, parameters)).toBe(5)
    expect(await valueOf('@o.q', document, parameters)).toBe('deep')
    expect(await valueOf('c.n IN (@n, 7)', document, parameters)).toBe(true)
  })

  test('refuses what only values show to be wrong', async () => {
    const refused = [
      ['(SELECT VALUE x FROM x IN [1, 2])', 'several rows'],
      ['c.s LIKE "a" ESCAPE "ab"', 'ESCAPE'],
      ['c.s LIKE "a^" ESCAPE "^"', 'ESCAPE'],
      [`c.s LIKE "${'%a'.repeat(600)}"`, 'LIKE'],
    ] as const
    for (const [expression, message] of refused) {
      await expect(valueOf(expression, document), expression).rejects.toMatchObject({
        code: 'ERR_BAD_QUERY',
        message: expect.stringContaining(message),
      })
    }
  })

  test('gives up joins that multiply without bound', async () => {
    const many = { list: Array.from({ length: 200 }, (_, index) => index) }
    const text = '(SELECT VALUE COUNT(1) FROM a IN c.list JOIN b IN c.list JOIN d IN c.list)'
    await expect(valueOf(text, many)).rejects.toMatchObject({ code: 'ERR_QUERY_TOO_COSTLY' })
  })

  test('a row that holds one value very many times is refused, not built', async () => {
    const nest = (depth: number): string =>
      depth === 0 ? 'c.s' : `(SELECT VALUE [x, x, x, x] FROM x IN [${nest(depth - 1)}])`
    await expect(valueOf(nest(16), { s: 'text' })).rejects.toMatchObject({ code: 'ERR_BAD_QUERY' })
  })
})
