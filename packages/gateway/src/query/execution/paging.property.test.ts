import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../json.ts'
import { allPages, MemorySource, withRids } from '../query-rows.fixture.ts'

const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, 1, -1, 2.5, '', 'a', 'b', 'B', 'ab', 'é', '😀'),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom('x'.repeat(99), 'x'.repeat(100), `${'x'.repeat(100)}a`, `${'x'.repeat(150)}b`),
)
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.record({ k: scalar }) },
)
const documentOf: fc.Arbitrary<JsonObject> = fc.record(
  { a: value, b: value, list: fc.array(scalar, { maxLength: 3 }) },
  { requiredKeys: [] },
)
const documents = fc.array(documentOf, { maxLength: 40 }).map(withRids)
const pageSize = fc.integer({ min: 1, max: 12 })
const sourcePage = fc.integer({ min: 1, max: 9 })

/** Rows as texts in an order of their own: for queries that promise none. */
function asSet(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted()
}

const ORDERED = [
  'SELECT VALUE c.id FROM c',
  'SELECT VALUE c.id FROM c WHERE IS_DEFINED(c.a) OFFSET 2 LIMIT 9',
  'SELECT TOP 7 c.id, c.a FROM c',
  'SELECT VALUE [c.id, x] FROM c JOIN x IN c.list',
  'SELECT VALUE c.a FROM c',
  'SELECT VALUE c.id FROM c ORDER BY c.a',
  'SELECT VALUE c.id FROM c ORDER BY c.a DESC, c.b',
  'SELECT VALUE c.id FROM c ORDER BY c.b, c.a DESC OFFSET 3 LIMIT 15',
  'SELECT TOP 11 VALUE c.id FROM c ORDER BY c.b DESC',
  'SELECT VALUE [c.id, x] FROM c JOIN x IN c.list ORDER BY x DESC',
  'SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a DESC',
  'SELECT DISTINCT c.a, c.b FROM c ORDER BY c.b, c.a OFFSET 1 LIMIT 9',
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT COUNT(c.a) AS n, MIN(c.a) AS low, MAX(c.b) AS high, SUM(c.a) AS sum FROM c',
] as const
const UNORDERED = [
  'SELECT DISTINCT VALUE c.a FROM c',
  'SELECT DISTINCT c.a, c.b FROM c',
  'SELECT DISTINCT VALUE x FROM x IN c.list',
  'SELECT c.a, COUNT(1) AS n, MIN(c.b) AS low FROM c GROUP BY c.a',
  'SELECT VALUE COUNT(1) FROM c GROUP BY c.a, c.b',
] as const

describe('paging', () => {
  test.each(ORDERED)(
    'gives the same rows in the same order with any page size: %s',
    async (text) => {
      await fc.assert(
        fc.asyncProperty(documents, pageSize, sourcePage, async (stored, maxItemCount, maxPage) => {
          const whole = (await allPages(text, new MemorySource(stored, { maxPage: 100 }))).flat()
          const paged = await allPages(text, new MemorySource(stored, { maxPage }), {
            maxItemCount,
          })
          expect(paged.flat()).toEqual(whole)
          expect(paged.every((page) => page.length <= maxItemCount)).toBe(true)
        }),
        { numRuns: 60 },
      )
    },
  )

  test.each(UNORDERED)('gives each row once with any page size: %s', async (text) => {
    await fc.assert(
      fc.asyncProperty(documents, pageSize, sourcePage, async (stored, maxItemCount, maxPage) => {
        const whole = (await allPages(text, new MemorySource(stored, { maxPage: 100 }))).flat()
        const paged = await allPages(text, new MemorySource(stored, { maxPage }), { maxItemCount })
        expect(asSet(paged.flat())).toEqual(asSet(whole))
      }),
      { numRuns: 60 },
    )
  })

  test.each(UNORDERED)('by OFFSET and LIMIT gives each row once: %s', async (text) => {
    await fc.assert(
      fc.asyncProperty(documents, fc.integer({ min: 1, max: 7 }), async (stored, limit) => {
        const source = new MemorySource(stored, { maxPage: 100 })
        const whole = (await allPages(text, source)).flat()
        const cut: unknown[] = []
        for (let offset = 0; offset < whole.length; offset += limit) {
          cut.push(...(await allPages(`${text} OFFSET ${offset} LIMIT ${limit}`, source)).flat())
        }
        expect(asSet(cut)).toEqual(asSet(whole))
      }),
      { numRuns: 40 },
    )
  })
})

/** Conditions with what they mean, written down a second time. `undefined` is "no answer". */
type Truth = boolean | undefined
interface Condition {
  readonly text: string
  readonly holds: (document: JsonObject) => Truth
}

const rank = (json: Json): number =>
  json === null ? 1 : ['boolean', 'number', 'string', 'object'].indexOf(typeof json) + 2

function comparison(operator: string, name: string, wanted: Json): Condition {
  return {
    text: `c.${name} ${operator} ${JSON.stringify(wanted)}`,
    holds: (document) => {
      const found = document[name]
      if (found === undefined) return undefined
      if (operator === '=') return JSON.stringify(found) === JSON.stringify(wanted)
      if (operator === '!=') return JSON.stringify(found) !== JSON.stringify(wanted)
      if (rank(found) !== rank(wanted) || rank(found) === 5) return undefined
      const [left, right] = [found, wanted] as [number, number]
      if (operator === '<') return left < right
      return operator === '<=' ? left <= right : left > right
    },
  }
}

const negated = ({ text, holds }: Condition): Condition => ({
  text: `NOT (${text})`,
  holds: (document) => {
    const answer = holds(document)
    return answer === undefined ? undefined : !answer
  },
})
const joined = (word: 'AND' | 'OR', left: Condition, right: Condition): Condition => ({
  text: `(${left.text}) ${word} (${right.text})`,
  holds: (document) => {
    const answers = [left.holds(document), right.holds(document)]
    const deciding = word === 'OR'
    if (answers.includes(deciding)) return deciding
    return answers.includes(undefined) ? undefined : !deciding
  },
})

const { condition } = fc.letrec<{ condition: Condition; simple: Condition }>((tie) => ({
  simple: fc
    .tuple(fc.constantFrom('=', '!=', '<', '<=', '>'), fc.constantFrom('a', 'b'), scalar)
    .map(([operator, name, wanted]) => comparison(operator, name, wanted ?? null)),
  condition: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('simple'),
    tie('condition').map(negated),
    fc.tuple(tie('condition'), tie('condition')).map(([l, r]) => joined('AND', l, r)),
    fc.tuple(tie('condition'), tie('condition')).map(([l, r]) => joined('OR', l, r)),
  ),
}))

test('a condition lets through just the documents that a plain reading of it does', async () => {
  let through = 0
  let held = 0
  await fc.assert(
    fc.asyncProperty(documents, condition, async (stored, { text, holds }) => {
      const source = new MemorySource(stored, { maxPage: 100 })
      const rows = (await allPages(`SELECT VALUE c.id FROM c WHERE ${text}`, source)).flat()
      const wanted = stored.filter((document) => holds(document) === true).map(({ id }) => id)
      expect(rows).toEqual(wanted)
      through += wanted.length
      held += stored.length - wanted.length
    }),
    { numRuns: 500 },
  )
  expect(Math.min(through, held)).toBeGreaterThan(100)
})
