import { expect, test } from 'vitest'
import { queryPlan, queryTraits } from './query-plan.ts'
import { parseQuery } from './syntax/parse-query.ts'

test.each([
  ['SELECT * FROM c', []],
  ['SELECT c.a FROM c WHERE c.b = 1', []],
  ['SELECT VALUE c.a FROM c', []],
  ['SELECT * FROM c ORDER BY c.a', ['hasOrderBy']],
  ['SELECT DISTINCT c.a FROM c', ['hasDistinct']],
  ['SELECT COUNT(1) FROM c', ['hasAggregates']],
  ['SELECT c.a FROM c GROUP BY c.a', ['hasGroupBy']],
  ['SELECT TOP 1 * FROM c', ['hasRowLimit']],
  ['SELECT * FROM c OFFSET 0 LIMIT 1', ['hasRowLimit']],
])('%s has these traits', (text, expected) => {
  const { hasSelectValue: _form, spansRanges, ...traits } = queryTraits(parseQuery(text))
  expect(Object.entries(traits).flatMap(([name, has]) => (has ? [name] : []))).toEqual(expected)
  expect(spansRanges).toBe(expected.length > 0)
})

test('a query without FROM has its one row once, however many ranges there are', () => {
  expect(queryTraits(parseQuery('SELECT 1')).spansRanges).toBe(true)
})

test('a plan leaves nothing to the client', () => {
  const { queryInfo, queryRanges } = queryPlan(
    parseQuery('SELECT TOP 3 VALUE c.a FROM c ORDER BY c.a'),
  )
  expect(queryInfo).toMatchObject({ orderBy: [], aggregates: [], top: null, rewrittenQuery: '' })
  expect(queryInfo).toMatchObject({ distinctType: 'None', hasSelectValue: true })
  expect(queryRanges).toEqual([{ min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }])
})
