import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BadQueryError } from '../bad-query-error.ts'
import type { Json } from '../json.ts'
import { NOW_MS } from '../query-rows.fixture.ts'
import { QueryBudget } from '../query-budget.ts'
import { valueHash } from '../values/value-hash.ts'
import { findFunction, supportedFunctions } from './function-table.ts'

const budget = new QueryBudget({ signal: new AbortController().signal })

const value: fc.Arbitrary<Json> = fc.oneof(
  fc.option(fc.jsonValue() as fc.Arbitrary<Json>, { nil: undefined }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom<Json>(
    0,
    -0,
    -1,
    0.5,
    1e308,
    -1e308,
    2 ** 53,
    1e-320,
    '',
    '1e999',
    '\ud800',
    '[',
    '{}',
  ),
  fc.constantFrom<Json>(
    '2026-01-02',
    '9999-12-31T23:59:59.9999999Z',
    '0001-01-01',
    'yyyy',
    'mm',
    'ns',
  ),
)

/** True for what JSON can hold, and for undefined. */
function isJson(result: Json): boolean {
  const text = JSON.stringify(result)
  return (
    result === undefined ||
    valueHash(JSON.parse(text) as Json, budget) === valueHash(result, budget)
  )
}

describe('with any arguments a function has a JSON value or none, or refuses them', () => {
  test.each(supportedFunctions())('%s', (name) => {
    const found = findFunction(name)!
    const { minArguments: minLength, maxArguments } = found
    const operands = fc.array(value, { minLength, maxLength: Math.min(maxArguments, 7) })
    fc.assert(
      fc.property(operands, (values) => {
        budget.beginRow()
        let result: Json
        try {
          result = found.evaluate(values, { nowMs: NOW_MS, budget })
        } catch (error) {
          expect(error).toBeInstanceOf(BadQueryError)
          return
        }
        expect(isJson(result)).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})
