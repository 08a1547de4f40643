import { describe, expect, test } from 'vitest'
import { BadQueryError } from './bad-query-error.ts'
import { createRowEnvironment, projectRow } from './execution/rows.ts'
import { findFunction, supportedFunctions } from './functions/function-table.ts'
import { isJsonArray, isJsonObject, type Json } from './json.ts'
import { QueryBudget } from './query-budget.ts'
import { MemorySource, NOW_MS, runPage, withRids } from './query-rows.fixture.ts'
import { parseQuery } from './syntax/parse-query.ts'

const { signal } = new AbortController()

/** Places of arrays and objects that one charged step may look at. */
const LOOKS_PER_STEP = 4
/** Where little is looked at. */
const FREE_LOOKS = 40

const numbers = Array.from({ length: 100 }, (_, n) => n)
/** Many places, of each kind that is walked through in its own way. */
const LARGE: Readonly<Record<string, Json>> = {
  numbers,
  'equal numbers': numbers.map(() => 1),
  arrays: numbers.map((n) => [n]),
  objects: numbers.map((n) => ({ n, list: [n] })),
  'nested arrays': numbers.reduce<Json>((inner) => [inner], []),
  'an object of many properties': Object.fromEntries(numbers.map((n) => [`name${n}`, n])),
}
const SMALL: readonly Json[] = [1, 'n', [99], { n: 99 }]

let looks = 0

/** The same value, of which every look at one of its places is counted. */
function watched(value: Json): Json {
  if (!isJsonArray(value) && !isJsonObject(value)) return value
  const inner = new Map<PropertyKey, Json>()
  return new Proxy(value, {
    get: (target, name) => {
      if (!Object.hasOwn(target, name) || name === 'length')
        return Reflect.get(target, name) as Json
      looks++
      if (!inner.has(name)) inner.set(name, watched(Reflect.get(target, name) as Json))
      return inner.get(name)
    },
    ownKeys: (target) => {
      const names = Reflect.ownKeys(target)
      looks += names.length
      return names
    },
  })
}

/** Evaluates an expression over all pairs of a large value and another one; gives the pairs that are not charged for. */
function uncharged(expression: string): string[] {
  const query = parseQuery(`SELECT VALUE ${expression}`)
  const others = [...Object.values(LARGE), ...SMALL]
  return Object.entries(LARGE).flatMap(([name, large]) =>
    others.flatMap((other, index) => {
      const budget = new QueryBudget({ signal })
      const parameters = new Map([
        ['@a', watched(large)],
        ['@b', watched(structuredClone(other))],
      ])
      looks = 0
      const { slots } = query
      const row = createRowEnvironment({ slots, parameters, nowMs: NOW_MS, budget })
      try {
        projectRow(query.selection, row)
      } catch (error) {
        expect(error).toBeInstanceOf(BadQueryError)
      }
      const most = FREE_LOOKS + LOOKS_PER_STEP * budget.steps
      return looks > most ? [`${name} and ${index}: ${looks} looks, ${budget.steps} steps`] : []
    }),
  )
}

/** The function with both values at each of its first places. */
function calls(name: string): string[] {
  const { minArguments, maxArguments } = findFunction(name)!
  return [
    ['@a'],
    ['@a', '@b'],
    ['@b', '@a'],
    ['@a', '@b', 'true'],
    ['@a', '0', '@b'],
    ['1', '@a', '@b'],
  ]
    .filter(({ length }) => length >= minArguments && length <= maxArguments)
    .map((operands) => `${name}(${operands.join()})`)
}

describe('what an expression looks at is charged', () => {
  test.each([
    ...supportedFunctions().flatMap(calls),
    ...['=', '!=', '<', '>=', '||', '??', '+', 'LIKE', 'AND'].map((sign) => `@a ${sign} @b`),
    '@a IN (@b, @b)',
    '@b BETWEEN @a AND @a',
    '[@a, @b]',
    '{a: @a, b: @b}',
    '@a.name7',
    '@a[7].n',
    'ARRAY(SELECT VALUE x FROM x IN @a)',
    'ARRAY(SELECT DISTINCT VALUE x FROM x IN @a)',
    'ARRAY(SELECT DISTINCT VALUE [@b, x] FROM x IN @a)',
    'ARRAY(SELECT VALUE x FROM x IN @a WHERE x = @b)',
    'EXISTS(SELECT VALUE y FROM x IN @a JOIN y IN x)',
    ...['COUNT', 'SUM', 'MIN', 'MAX', 'MAKELIST', 'MAKESET'].map(
      (name) => `(SELECT VALUE ${name}(x) FROM x IN @a)`,
    ),
  ])('%s', (expression) => {
    expect(uncharged(expression)).toEqual([])
  })
})

describe('what a page looks at is charged', () => {
  test.each([
    'SELECT * FROM c',
    'SELECT VALUE c.v FROM c',
    'SELECT DISTINCT VALUE c.v FROM c',
    'SELECT VALUE c.id FROM c ORDER BY c.v',
    'SELECT COUNT(1) AS n FROM c GROUP BY c.v',
    'SELECT c.v FROM c GROUP BY c.v',
    'SELECT MAKESET(c.v) AS s FROM c',
    'SELECT MAKELIST(c.v) AS s FROM c',
    'SELECT VALUE COUNT(1) FROM c JOIN x IN c.v',
  ])('%s', async (text) => {
    const budget = new QueryBudget({ signal })
    const documents = Object.values(LARGE).map((v) => ({ v: watched(v) }))
    looks = 0
    await runPage(text, new MemorySource(withRids(documents)), { budget })
    expect(looks).toBeGreaterThan(200)
    // Beside what reading a document costs.
    const steps = budget.steps - 100 * documents.length
    expect(looks).toBeLessThanOrEqual(FREE_LOOKS + LOOKS_PER_STEP * steps)
  })
})
