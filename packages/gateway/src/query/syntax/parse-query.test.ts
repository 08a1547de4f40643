import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BadQueryError } from '../bad-query-error.ts'
import { parseCondition, parseQuery } from './parse-query.ts'

function failure(read: () => unknown): BadQueryError {
  try {
    read()
  } catch (error) {
    if (error instanceof BadQueryError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('a query is read', () => {
  const texts = [
    'SELECT * FROM c',
    'select * from c',
    'Select * From Root',
    'SELECT * FROM root r WHERE r.a = 1',
    'SELECT * FROM Families AS f',
    'SELECT c.id, c.name AS n, c["x y"] z FROM c',
    "SELECT c.id AS 'quoted name' FROM c",
    'SELECT VALUE c FROM c',
    'SELECT VALUE {"a": c.a, b: [c.b, 1]} FROM c',
    'SELECT c.value, c.order, c.from, c.group FROM c',
    'SELECT c.a AS value, c.b AS order FROM c',
    'SELECT TOP 10 * FROM c',
    'SELECT TOP @n * FROM c',
    'SELECT DISTINCT TOP 10 c.a FROM c',
    'SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a',
    'SELECT DISTINCT c.a, c.b FROM c ORDER BY c.b DESC, c.a ASC',
    'SELECT DISTINCT * FROM c ORDER BY c.b',
    'SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a.b',
    'SELECT * FROM c ORDER BY c.a ASC, c.b DESC OFFSET 1 LIMIT 2',
    'SELECT * FROM c OFFSET @o LIMIT @l',
    'SELECT c.a AS x FROM c ORDER BY x',
    'SELECT VALUE COUNT(1) FROM c',
    'SELECT COUNT(c.a), MAX(c.b) AS m, 1 + SUM(c.c) AS s FROM c',
    'SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a',
    'SELECT c.a.b, UPPER(c.d) FROM c GROUP BY c.a, UPPER(c.d)',
    'SELECT VALUE {"k": c.a, "n": COUNT(1)} FROM c GROUP BY c.a',
    'SELECT t FROM c JOIN t IN c.tags WHERE t = "x"',
    'SELECT VALUE t FROM t IN c.tags',
    'SELECT * FROM t IN c.tags',
    'SELECT * FROM c.address.state',
    'SELECT * FROM c["address"] a WHERE a.b = 1',
    'SELECT c.id FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t > 1) AS x',
    'SELECT c.id FROM c JOIN x IN (SELECT VALUE c.tags)',
    'SELECT 1',
    'SELECT VALUE GetCurrentTimestamp()',
    'SELECT * FROM c -- a comment\nWHERE /* another */ c.a = 1',
    'SELECT*FROM c WHERE(c.a=1)AND(c.b<>2)',
    'SELECT * FROM c WHERE c.ü = "ü"',
    ' \t\r\n SELECT * FROM c \n',
    `SELECT * FROM c WHERE ${Array.from({ length: 5000 }, (_, i) => `c.a = ${i}`).join(' OR ')}`,
    `SELECT * FROM c WHERE c.a IN (${Array.from({ length: 5000 }, (_, i) => i).join(',')})`,
    `SELECT VALUE ${Array.from({ length: 20_000 }, () => '1').join('+')} FROM c`,
    `SELECT VALUE c${'.a'.repeat(20_000)} FROM c`,
  ]
  for (const text of texts) {
    test(text.slice(0, 80), () => {
      expect(parseQuery(text).text).toBe(text)
    })
  }
})

describe('a query is refused with what is wrong and where', () => {
  const texts = [
    ['', 'expected SELECT, found the end at line 1, column 1'],
    ['SELECT', 'expected an expression'],
    ['SELECT FROM c', "expected an expression, found 'FROM' at line 1, column 8"],
    ['SELECT * FROM', 'a container name'],
    ['SELECT * WHERE c.a = 1', 'without FROM'],
    ['SELECT *, c.a FROM c', "'*' together with other columns"],
    ['SELECT VALUE * FROM c', "found '*'"],
    ['SELECT * FROM c WHERE', 'found the end'],
    ['SELECT * FROM c WHERE c.a =', 'found the end'],
    ['SELECT * FROM c\nWHERE c.a = = 1', "found '=' at line 2, column 13"],
    ['SELECT * FROM c WHERE (c.a = 1', "expected ')'"],
    ['SELECT * FROM c WHERE c.a = 1)', "found ')'"],
    ['SELECT * FROM c WHERE c.', 'a property name'],
    ['SELECT * FROM c WHERE d.a = 1', "the name 'd' is not bound"],
    ['SELECT * FROM f AS g WHERE f.a = 1', "the name 'f' is not bound"],
    ['SELECT id FROM c', "the name 'id' is not bound"],
    ['SELECT * FROM c WHERE C.a = 1', "the name 'C' is not bound"],
    ['SELECT * FROM c WHERE c.a = "x', 'closing quote'],
    ['SELECT * FROM c /* no end', 'comment without its end'],
    [String.raw`SELECT * FROM c WHERE c.a = "\x"`, 'escape sequence'],
    ['SELECT * FROM c WHERE c.a = 1abc', 'no number'],
    ['SELECT * FROM c WHERE c.a = #', 'unexpected character'],
    ['SELECT * FROM c;', 'unexpected character ";"'],
    ['SELECT * FROM c WHERE c.a IS NULL', "found 'IS'"],
    ['SELECT * FROM c WHERE c.a IN ()', 'expected an expression'],
    ['SELECT * FROM c WHERE c.a BETWEEN 1', 'expected AND'],
    ['SELECT * FROM c WHERE NOSUCH(c.a)', 'there is no function NOSUCH'],
    ['SELECT * FROM c WHERE toString(c.a, 1) = 1', 'TOSTRING takes 1 arguments, got 2'],
    ['SELECT * FROM c WHERE CONTAINS(c.a)', 'CONTAINS takes 2 to 3 arguments, got 1'],
    ['SELECT * FROM c WHERE udf.mine(c.a)', 'udf.mine stands at line 1, column 23'],
    ['SELECT * FROM c WHERE UDF.mine(c.a)', 'user-defined'],
    ['SELECT * FROM c WHERE c.a.mine()', '.mine'],
    ['SELECT * FROM c WHERE ST_DISTANCE(c.a, c.b) < 1', 'spatial functions are not supported'],
    ['SELECT * FROM c WHERE FullTextContains(c.a, "b")', 'full-text search function'],
    ['SELECT * FROM c ORDER BY RANK FullTextScore(c.a, "b")', 'not supported'],
    ['SELECT * FROM c ORDER BY VectorDistance(c.a, [1])', 'vector search function'],
    ['SELECT * FROM c WHERE RegexMatch(c.a, "a+")', 'regular expression function'],
    ['SELECT RAND() FROM c', 'RAND is not supported'],
    [
      'SELECT ALL(SELECT VALUE t FROM t IN c.tags) FROM c',
      'the subquery expression ALL is not supported',
    ],
    ['SELECT LASTINDEXOF(c.a, "x") FROM c', 'the function LASTINDEXOF is not supported'],
    ['SELECT * FROM c HAVING 1 = 1', 'HAVING'],
    ['SELECT c.a FROM c GROUP BY c.a HAVING COUNT(1) > 1', 'HAVING is not supported'],
    ['SELECT * FROM c UNION SELECT * FROM c', 'UNION is not supported'],
    ['SELECT * FROM (SELECT DISTINCT c.a FROM c)', 'for aggregates without GROUP BY only'],
    ['SELECT x.a, COUNT(1) FROM (SELECT DISTINCT c.a FROM c) x GROUP BY x.a', 'without GROUP BY'],
    ['SELECT * FROM (SELECT COUNT(1) FROM c)', 'in a subquery of FROM is not supported'],
    ['SELECT * FROM (SELECT TOP 1 * FROM c)', 'TOP in a subquery'],
    ['SELECT * FROM (SELECT * FROM c ORDER BY c.a)', 'ORDER in a subquery'],
    ['SELECT VALUE c.a FROM (SELECT * FROM c) AS x', "the name 'c' is not bound"],
    ['SELECT * FROM c JOIN t IN c.tags', "SELECT '*' with JOIN"],
    ['SELECT c.a, c.a FROM c', "two columns 'a'"],
    ['SELECT c.a AS x, c.b AS x FROM c', "two columns 'x'"],
    ['SELECT c.a, COUNT(1) FROM c', "'c' in SELECT is neither"],
    ['SELECT c.b FROM c GROUP BY c.a', "'c' in SELECT is neither"],
    ['SELECT * FROM c GROUP BY c.a', 'neither'],
    ['SELECT * FROM c WHERE COUNT(1) > 1', 'COUNT cannot stand in WHERE'],
    ['SELECT c.a FROM c ORDER BY COUNT(1)', 'COUNT cannot stand in ORDER BY'],
    ['SELECT COUNT(SUM(c.a)) FROM c', 'SUM cannot stand in COUNT'],
    ['SELECT c.a FROM c GROUP BY c.a ORDER BY c.a', 'ORDER BY together with GROUP BY'],
    ['SELECT DISTINCT c.a FROM c GROUP BY c.a', 'DISTINCT together with GROUP BY'],
    ['SELECT DISTINCT c.a FROM c ORDER BY c.b', 'must be on what is selected'],
    ['SELECT DISTINCT VALUE c.a.b FROM c ORDER BY c.a', 'must be on what is selected'],
    [
      'SELECT COUNT(1), EXISTS(SELECT VALUE x FROM x IN c.a) AS e FROM c',
      'subquery in SELECT beside',
    ],
    ['SELECT TOP 1.5 * FROM c', 'TOP takes a whole number'],
    ['SELECT TOP "1" * FROM c', 'TOP takes a whole number'],
    ['SELECT TOP -1 * FROM c', 'TOP takes a whole number'],
    ['SELECT * FROM c OFFSET 1', 'expected LIMIT'],
    ['SELECT * FROM c LIMIT 1', 'LIMIT without OFFSET'],
    ['SELECT TOP 1 * FROM c OFFSET 0 LIMIT 1', 'TOP together with OFFSET LIMIT'],
    ['SELECT * FROM c ORDER BY', 'found the end'],
    ['SELECT * FROM c ORDER c.a', 'expected BY'],
    ['SELECT * FROM c WHERE c.a = 1 FROM c', "found 'FROM'"],
    ['SELECT VALUE (SELECT TOP 1 VALUE x FROM x IN c.a) FROM c', 'TOP in a subquery'],
    ['SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.a ORDER BY x) FROM c', 'ORDER in a subquery'],
    ['SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.a GROUP BY x) FROM c', 'GROUP in a subquery'],
    ['SELECT VALUE {a 1} FROM c', "expected ':'"],
    ['SELECT VALUE {1: 1} FROM c', 'property name'],
    ['DELETE FROM c', 'DELETE is not supported'],
    ['from c where c.a = 1', 'expected SELECT'],
    [`SELECT VALUE ${'('.repeat(200)}1${')'.repeat(200)} FROM c`, 'nested more than'],
    [`SELECT VALUE ${'-'.repeat(1).concat(' ').repeat(5000)}1 FROM c`, 'nested more than'],
    [`SELECT VALUE ${'NOT '.repeat(5000)}true FROM c`, 'nested more than'],
    [`SELECT VALUE ${'['.repeat(100_000)}`, 'nested more than'],
    [`SELECT VALUE ${'true ? 1 : '.repeat(5000)}1 FROM c`, 'nested more than'],
    [`SELECT VALUE ${'(SELECT VALUE '.repeat(5000)}1`, 'nested more than'],
    [`SELECT ${'/*'.repeat(200_000)}`, 'comment without its end'],
    ['x'.repeat(600_000), 'at most'],
  ] as const
  for (const [text, message] of texts) {
    test(`${text.slice(0, 70)} (${message})`, () => {
      const error = failure(() => parseQuery(text))
      expect(error.message).toContain(message)
      expect(error.code).toBe('ERR_BAD_QUERY')
    })
  }
})

describe('the condition of a patch', () => {
  test.each([
    'from c where c.a = 1',
    'FROM root r WHERE r.a IN (1, 2)',
    'SELECT * FROM c WHERE c.a = 1',
    'from c join t in c.tags where t = 1',
  ])('is read: %s', (text) => {
    expect(parseCondition(text).text).toBe(text)
  })

  test.each([
    ['', 'expected FROM'],
    ['from c', 'expected WHERE'],
    ['where c.a = 1', 'expected FROM'],
    ['from c where c.a = 1 order by c.a', 'the end of the condition'],
    ['select c.a from c where c.a = 1', "expected '*'"],
  ])('is refused: %s', (text, message) => {
    expect(failure(() => parseCondition(text)).message).toContain(message)
  })
})

describe('any text', () => {
  const pieces = fc.constantFrom(
    ...'SELECT|FROM|WHERE|c|c.a|*|,|(|)|[|]|{|}|AND|OR|NOT|IN|LIKE|=|<|??|?|:|1|"x"|\'|@p|COUNT(1)'.split(
      '|',
    ),
    ...'VALUE|TOP|DISTINCT|ORDER BY|GROUP BY|OFFSET|LIMIT|JOIN|EXISTS(|ARRAY(|AS|.|--|/*|-|||0x|\\'.split(
      '|',
    ),
  )

  test('is read or refused with ERR_BAD_QUERY, never anything else', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(' ')),
      fc.array(pieces, { maxLength: 30 }).map((parts) => `SELECT * FROM c WHERE ${parts.join('')}`),
      fc.array(pieces, { maxLength: 12 }).map((parts) => `SELECT ${parts.join(' ')} FROM c`),
    )
    fc.assert(
      fc.property(text, (value) => {
        for (const read of [parseQuery, parseCondition]) {
          try {
            read(value)
          } catch (error) {
            expect(error).toBeInstanceOf(BadQueryError)
          }
        }
      }),
      { numRuns: 3000 },
    )
  })
})
