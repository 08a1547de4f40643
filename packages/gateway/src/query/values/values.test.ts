import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { deepEquals, sqlCompare, sqlEquals } from './compare.ts'
import { matchesLikePattern, parseLikePattern } from './like-pattern.ts'
import { QueryBudget } from '../query-budget.ts'
import { compareSortValues, sortValue } from './sort-value.ts'
import { valueHash } from './value-hash.ts'
import { valueChars } from './value-size.ts'

const budget = new QueryBudget({ signal: new AbortController().signal })
beforeEach(() => budget.beginRow())

const value: fc.Arbitrary<Json> = fc.option(fc.jsonValue() as fc.Arbitrary<Json>, {
  nil: undefined,
})

function nestedArray(depth: number): Json {
  let nested: Json = []
  for (let level = 0; level < depth; level++) nested = [nested]
  return nested
}

describe('equality', () => {
  test('is reflexive, symmetric, and what equal hashes say', () => {
    fc.assert(
      fc.property(value, value, (left, right) => {
        expect(deepEquals(left, structuredClone(left), budget)).toBe(true)
        expect(deepEquals(left, right, budget)).toBe(deepEquals(right, left, budget))
        expect(valueHash(left, budget) === valueHash(right, budget)).toBe(
          deepEquals(left, right, budget),
        )
      }),
    )
  })

  test('has no answer with undefined, and no for different types', () => {
    expect(sqlEquals(undefined, undefined, budget)).toBeUndefined()
    expect(sqlEquals(null, undefined, budget)).toBeUndefined()
    expect(sqlEquals(0, false, budget)).toBe(false)
    expect(sqlEquals('1', 1, budget)).toBe(false)
    expect(sqlEquals([], {}, budget)).toBe(false)
  })

  test('does not go by the order of properties', () => {
    expect(deepEquals({ a: 1, b: [2] }, { b: [2], a: 1 }, budget)).toBe(true)
    expect(valueHash({ a: 1, b: [2] }, budget)).toBe(valueHash({ b: [2], a: 1 }, budget))
    expect(valueHash([1, 2], budget)).not.toBe(valueHash([2, 1], budget))
  })
})

describe('the order of values', () => {
  test('is total, and 0 just for equal ones', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const [x, y, z] = [sortValue(a, budget), sortValue(b, budget), sortValue(c, budget)]
        expect(Math.sign(compareSortValues(x, y))).toBe(-Math.sign(compareSortValues(y, x)) + 0)
        expect(compareSortValues(x, y) === 0).toBe(deepEquals(a, b, budget))
        if (compareSortValues(x, y) <= 0 && compareSortValues(y, z) <= 0) {
          expect(compareSortValues(x, z)).toBeLessThanOrEqual(0)
        }
      }),
    )
  })

  test('agrees with < on primitives of one type', () => {
    fc.assert(
      fc.property(value, value, (left, right) => {
        const order = sqlCompare(left, right, budget)
        if (order === undefined) return
        expect(
          Math.sign(compareSortValues(sortValue(left, budget), sortValue(right, budget))),
        ).toBe(Math.sign(order))
      }),
    )
  })
})

describe('deep values', () => {
  const deep = nestedArray(100_000)
  test.each([
    ['compared', () => deepEquals(deep, nestedArray(100_000), budget)],
    ['hashed', () => valueHash(deep, budget)],
    ['measured', () => valueChars(deep, budget)],
  ])('are refused when %s, not a stack overflow', (_name, use) => {
    expect(use).toThrow(expect.objectContaining({ code: 'ERR_BAD_QUERY' }))
  })

  test('that hold one value many times are refused without walking on', () => {
    let value: Json = 'x'
    for (let level = 0; level < 60; level++) value = [value, value]
    expect(() => valueChars(value, budget)).toThrow('larger than')
  })
})

describe('LIKE', () => {
  test('agrees with a regular expression on any text and pattern of % and _', () => {
    const letters = fc.array(fc.constantFrom('a', 'b', '%', '_'), { maxLength: 8 })
    const text = fc.array(fc.constantFrom('a', 'b', '\n'), { maxLength: 10 })
    fc.assert(
      fc.property(letters, text, (pattern, units) => {
        const source = pattern
          .map(
            (unit) =>
              new Map([
                ['%', '.*'],
                ['_', '.'],
              ]).get(unit) ?? unit,
          )
          .join('')
        expect(
          matchesLikePattern(
            units.join(''),
            parseLikePattern(pattern.join(''), undefined, budget),
            budget,
          ),
        ).toBe(new RegExp(`^${source}$`, 's').test(units.join('')))
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['b', '[abc]', true],
    ['d', '[abc]', false],
    ['d', '[^abc]', true],
    ['m', '[a-z]', true],
    ['M', '[a-z]', false],
    ['5', '[a-z0-9]', true],
    ['-', '[a-]', true],
    ['^', '[a^]', true],
    ['[', '[[]', true],
    ['[a', '[a', true],
    ['', '', true],
    ['', '_', false],
  ])('%j LIKE %j is %s', (text, pattern, expected) => {
    expect(matchesLikePattern(text, parseLikePattern(pattern, undefined, budget), budget)).toBe(
      expected,
    )
  })

  test('takes bounded time where a backtracking expression would not', () => {
    const pattern = parseLikePattern('%a'.repeat(30) + 'b', undefined, budget)
    expect(matchesLikePattern('a'.repeat(20_000), pattern, budget)).toBe(false)
  })
})
