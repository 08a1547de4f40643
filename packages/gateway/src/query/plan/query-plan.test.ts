import { describe, expect, test } from 'vitest'
import { assertSupported } from './features.ts'
import { queryPlan, type QueryInfo, type QueryRange } from './query-plan.ts'
import type { Json } from '../json.ts'
import { parseQuery } from '../syntax/parse-query.ts'

const EVERYWHERE: QueryRange = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }

function infoOf(text: string, parameters: Readonly<Record<string, Json>> = {}): QueryInfo {
  const list = Object.entries(parameters).map(([name, value]) => ({ name, value }))
  return queryPlan(parseQuery(text), { parameters: list, range: EVERYWHERE }).queryInfo
}

const NOTHING = {
  distinctType: 'None',
  top: null,
  offset: null,
  limit: null,
  orderBy: [],
  orderByExpressions: [],
  groupByExpressions: [],
  groupByAliases: [],
  aggregates: [],
  groupByAliasToAggregateType: {},
  rewrittenQuery: '',
  hasSelectValue: false,
  dCountInfo: null,
  hasNonStreamingOrderBy: false,
}
const FILTER = '({documentdb-formattableorderbyquery-filter})'

// The forms are those of QueryPlanBaselineTests of azure-cosmos-dotnet-v3, but for brackets and line ends.
describe('a plan', () => {
  test.each([
    ['SELECT * FROM c', {}],
    ['SELECT VALUE c.a FROM c JOIN x IN c.items WHERE x > 3', { hasSelectValue: true }],
    ['SELECT TOP 5 * FROM c WHERE c.a = 1', { top: 5 }],
    ['SELECT DISTINCT c.a FROM c', { distinctType: 'Unordered' }],
    ['SELECT c.name, s FROM c JOIN (SELECT VALUE COUNT(1) FROM x IN c.items) s', {}],
  ])('leaves %s as it is', (text, merged) => {
    expect(infoOf(text)).toEqual({ ...NOTHING, ...merged })
  })

  test.each([
    [
      'SELECT * FROM Root r WHERE r.k = 1 OR r.b ORDER BY r.key DESC, r["a"] ASC',
      `SELECT r._rid, [{"item": r.key}, {"item": r["a"]}] AS orderByItems, r AS payload FROM Root r WHERE (r.k = 1 OR r.b) AND ${FILTER} ORDER BY r.key DESC, r["a"]`,
      {
        orderBy: ['Descending', 'Ascending'],
        orderByExpressions: ['r.key', 'r["a"]'],
      },
    ],
    [
      'SELECT TOP 50 r[0], r.x AS y FROM r ORDER BY y -- the name',
      `SELECT TOP 50 r._rid, [{"item": r.x}] AS orderByItems, {"$1": r[0], "y": r.x} AS payload FROM r WHERE ${FILTER} ORDER BY r.x`,
      { top: 50, orderBy: ['Ascending'], orderByExpressions: ['r.x'] },
    ],
    [
      'SELECT VALUE c.a FROM c ORDER BY c.b OFFSET 3 LIMIT 4',
      `SELECT c._rid, [{"item": c.b}] AS orderByItems, c.a AS payload FROM c WHERE ${FILTER} AND IS_DEFINED(c.a) ORDER BY c.b OFFSET 0 LIMIT 7`,
      {
        offset: 3,
        limit: 4,
        orderBy: ['Ascending'],
        orderByExpressions: ['c.b'],
        hasSelectValue: true,
      },
    ],
  ])('of ORDER BY has its values beside each row: %s', (text, rewrittenQuery, merged) => {
    expect(infoOf(text)).toEqual({ ...NOTHING, ...merged, rewrittenQuery })
  })

  test('of DISTINCT with ORDER BY leaves both to the client, with the bounds', () => {
    const ordered = infoOf('SELECT DISTINCT TOP 2 VALUE c.a FROM c ORDER BY c.a')
    expect(ordered).toMatchObject({ distinctType: 'Ordered', top: 2, orderBy: ['Ascending'] })
    expect(ordered.rewrittenQuery).toMatch(/^SELECT c\._rid, .* ORDER BY c\.a$/)
    const apart = infoOf('SELECT DISTINCT c.a, c.b FROM c ORDER BY c.a OFFSET 1 LIMIT 2')
    expect(apart).toMatchObject({ distinctType: 'Unordered', offset: 1, limit: 2 })
    expect(apart.rewrittenQuery).not.toContain('OFFSET')
  })

  test('of DISTINCT or a bound alone has each range give all that may be wanted of it', () => {
    expect(infoOf('SELECT DISTINCT TOP 5 VALUE c.name FROM c').rewrittenQuery).toBe(
      'SELECT DISTINCT VALUE c.name FROM c',
    )
    const bounds = { '@o': 42, '@l': 1337 }
    expect(infoOf('SELECT c.a FROM c WHERE c.b = 5 OFFSET @o LIMIT @l', bounds)).toEqual({
      ...NOTHING,
      offset: 42,
      limit: 1337,
      rewrittenQuery: 'SELECT VALUE {"a": c.a} FROM c WHERE c.b = 5 OFFSET 0 LIMIT 1379',
    })
    expect(() => infoOf('SELECT TOP @n * FROM c')).toThrow('@n')
  })

  test.each([
    ['COUNT(1)', 'Count', '{"item": COUNT(1)}'],
    ['sum( c.a + 1 )', 'Sum', '{"item": SUM(c.a + 1)}'],
    ['AVG(c.a)', 'Average', '{"item": {"sum": SUM(c.a), "count": COUNT(c.a)}}'],
    ['MIN(c.a)', 'Min', '{"item": MIN(c.a), "item2": {"min": MIN(c.a), "count": COUNT(c.a)}}'],
    ['MAX(c.a)', 'Max', '{"item": MAX(c.a), "item2": {"max": MAX(c.a), "count": COUNT(c.a)}}'],
    ['MAKELIST(c.a)', 'MakeList', '{"item": MAKELIST(c.a)}'],
    ['MakeSet(c.a)', 'MakeSet', '{"item": MAKESET(c.a)}'],
  ])('of %s has what can be added up', (aggregate, type, partial) => {
    expect(infoOf(`SELECT TOP 9 VALUE ${aggregate} FROM c WHERE c.b`)).toEqual({
      ...NOTHING,
      top: 9,
      aggregates: [type],
      hasSelectValue: true,
      rewrittenQuery: `SELECT VALUE [${partial}] FROM c WHERE c.b`,
    })
    expect(infoOf(`SELECT ${aggregate} FROM c`)).toEqual({
      ...NOTHING,
      groupByAliases: ['$1'],
      groupByAliasToAggregateType: { $1: type },
      rewrittenQuery: `SELECT {"$1": ${partial}} AS payload FROM c`,
    })
    expect(infoOf(`SELECT VALUE ${aggregate} FROM c GROUP BY c.g`)).toMatchObject({
      aggregates: [type],
      rewrittenQuery: `SELECT [{"item": c.g}] AS groupByItems, [${partial}] AS payload FROM c GROUP BY c.g`,
    })
  })

  test('of GROUP BY names its columns', () => {
    const text =
      'SELECT c.name, UPPER(c.team) AS t, COUNT(1) AS n FROM c GROUP BY c.name, UPPER(c.team)'
    expect(infoOf(text)).toEqual({
      ...NOTHING,
      groupByExpressions: ['c.name', 'UPPER(c.team)'],
      groupByAliases: ['name', 't', 'n'],
      groupByAliasToAggregateType: { name: null, t: null, n: 'Count' },
      rewrittenQuery:
        'SELECT [{"item": c.name}, {"item": UPPER(c.team)}] AS groupByItems, ' +
        '{"name": c.name, "t": UPPER(c.team), "n": {"item": COUNT(1)}} AS payload ' +
        'FROM c GROUP BY c.name, UPPER(c.team)',
    })
    expect(infoOf('SELECT VALUE {"age": c.age} FROM c GROUP BY c.age').rewrittenQuery).toBe(
      'SELECT [{"item": c.age}] AS groupByItems, {"age": c.age} AS payload FROM c GROUP BY c.age',
    )
  })

  test('of COUNT over SELECT DISTINCT has the client count', () => {
    const inner = 'SELECT DISTINCT VALUE c.kind FROM c WHERE c.a'
    expect(infoOf(`SELECT VALUE COUNT(1) FROM (${inner})`)).toEqual({
      ...NOTHING,
      distinctType: 'Unordered',
      hasSelectValue: true,
      dCountInfo: { dCountAlias: '' },
      rewrittenQuery: inner,
    })
    expect(infoOf(`SELECT COUNT(x) AS n FROM (${inner}) x`).dCountInfo).toEqual({
      dCountAlias: 'n',
    })
  })

  test('of a query without FROM goes to one range', () => {
    const { queryRanges } = queryPlan(parseQuery('SELECT 5'), { parameters: [], range: EVERYWHERE })
    expect(queryRanges).toEqual([{ min: '', max: '', isMinInclusive: true, isMaxInclusive: true }])
  })

  test.each([
    'SELECT VALUE {"sum": SUM(c.a)} FROM c',
    'SELECT c.g, ABS(AVG(c.a)) AS a FROM c GROUP BY c.g',
    'SELECT VALUE COUNT(1) + 1 FROM c',
    'SELECT VALUE SUM(x.n) FROM (SELECT DISTINCT c.n FROM c) x',
    'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c) x WHERE x > 1',
    'SELECT VALUE COUNT(x.n) FROM (SELECT DISTINCT c.n FROM c) x',
    'SELECT VALUE x FROM x IN c.items ORDER BY x.a',
    'SELECT VALUE x.n FROM (SELECT c.n FROM c) x ORDER BY x.n',
    'SELECT c.a FROM c JOIN c IN c.items ORDER BY c.a',
  ])('there is none of what no client could merge: %s', (text) => {
    expect(() => infoOf(text)).toThrow(
      expect.objectContaining({
        code: 'ERR_BAD_QUERY',
        message: expect.stringContaining('over several partition key ranges'),
      }),
    )
  })
})

describe('a rewritten query', () => {
  test.each([
    'SELECT r.a, r.b AS x FROM r WHERE r.c ORDER BY r.a DESC',
    'SELECT c.g, AVG(c.a), MIN(c.b) AS m FROM c JOIN x IN c.items GROUP BY c.g',
    'SELECT DISTINCT TOP 3 c.a, c.b + 1 FROM c -- all of them',
    'SELECT TOP 1 VALUE MAX(c.a) FROM c',
  ])('can be read, with true for its condition: %s', (text) => {
    const written = infoOf(text).rewrittenQuery.replace(FILTER, '(true)')
    expect(() => parseQuery(written)).not.toThrow()
  })
})

describe('what a client says it can merge', () => {
  const check = (text: string, supported: string | undefined): void =>
    assertSupported(infoOf(text), supported)

  test('is believed, and nothing said is everything', () => {
    const text = 'SELECT c.g, COUNT(1) AS n, MAX(c.a) AS m FROM c GROUP BY c.g'
    expect(() => check(text, undefined)).not.toThrow()
    expect(() => check(text, 'Aggregate, GROUPBY,MultipleAggregates')).not.toThrow()
    expect(() => check(text, 'Aggregate, Distinct, OrderBy, Top')).toThrow(
      /unsupported features.* MultipleAggregates, GroupBy/,
    )
  })

  test.each([
    ['SELECT COUNT(1) FROM c', 'NonValueAggregate'],
    ['SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.a FROM c)', 'DCount'],
    ['SELECT * FROM c OFFSET 0 LIMIT 1', 'OffsetAndLimit'],
    ['SELECT * FROM c ORDER BY c.a, c.b', 'MultipleOrderBy'],
  ])('%s needs %s', (text, feature) => {
    const all =
      'Aggregate, Distinct, MultipleOrderBy, OrderBy, Top, OffsetAndLimit, NonValueAggregate, DCount'
    expect(() => check(text, all)).not.toThrow()
    expect(() => check(text, all.replace(feature, ''))).toThrow(feature)
  })
})
