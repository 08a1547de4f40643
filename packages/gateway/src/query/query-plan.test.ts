import { expect, test } from 'vitest'
import { isPlanned, queryPlan } from './query-plan.ts'
import { parseQuery } from './syntax/parse-query.ts'

test('a plan leaves nothing to the client', () => {
  const { queryInfo, queryRanges } = queryPlan(
    parseQuery('SELECT TOP 3 VALUE c.a FROM c ORDER BY c.a'),
  )
  expect(queryInfo).toMatchObject({ orderBy: [], aggregates: [], top: null })
  expect(queryInfo).toMatchObject({ distinctType: 'None', hasSelectValue: true })
  expect(queryRanges).toEqual([{ min: '', max: '00', isMinInclusive: true, isMaxInclusive: false }])
})

test('a query that follows a plan is known by its text, and is the same query', () => {
  const text = 'SELECT VALUE COUNT(1) FROM c'
  const { rewrittenQuery } = queryPlan(parseQuery(text)).queryInfo
  const planned = String(rewrittenQuery)
  expect([text, planned].map(isPlanned)).toEqual([false, true])
  expect(parseQuery(planned)).toEqual({ ...parseQuery(text), text: planned })
})
