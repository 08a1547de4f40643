import { expect, test } from 'vitest'
import { QueryBudget } from '../query-budget.ts'
import { parseCondition } from '../syntax/parse-query.ts'
import { matchesCondition } from './matches-condition.ts'

const budget = new QueryBudget({ signal: new AbortController().signal })
const document = { id: 'a', status: 'open', count: 3, tags: ['x', 'y'] }

test.each([
  ['from c where c.status = "open"', true],
  ['from c where c.status = "closed"', false],
  ['from c where c.missing = 1', false],
  ['from c where NOT (c.missing = 1)', false],
  ['from c where c.count > 2 and c.count < 4', true],
  ['FROM root r WHERE ARRAY_CONTAINS(r.tags, "y")', true],
  ['from c join t in c.tags where t = "y"', true],
  ['from c join t in c.tags where t = "z"', false],
  ['from c where c.count', false],
  ['select * from c where c.id = "a"', true],
])('%s', (text, expected) => {
  expect(matchesCondition(parseCondition(text), document, { budget })).toBe(expected)
})

test('takes parameters, and refuses a missing one', () => {
  const query = parseCondition('from c where c.count = @n')
  expect(
    matchesCondition(query, document, { budget, parameters: [{ name: '@n', value: 3 }] }),
  ).toBe(true)
  expect(() => matchesCondition(query, document, { budget })).toThrow('@n')
})
