import { expect, test } from 'vitest'
import { parseQuery } from '../query/syntax/parse-query.ts'
import { assertCompositeIndex } from './composite-index.ts'

// Policies that were stored before they were checked.
test.each([undefined, {}, { compositeIndexes: 7 }, { compositeIndexes: [[{}, { path: '/b' }]] }])(
  'a policy that cannot be read serves no order: %j',
  (policy) => {
    const query = parseQuery('SELECT * FROM c ORDER BY c.a + 1, c.b')
    expect(() => assertCompositeIndex(query, policy)).toThrow('composite index')
  },
)
