import type { Container, FeedOptions } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, pagesOf, pathOf, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
const COUNT = 40

beforeAll(async () => {
  interop = await openInterop()
  const compositeIndexes = [[{ path: '/kind' }, { path: '/n', order: 'descending' }]]
  const indexingPolicy = { compositeIndexes } as never
  container = await interop.container({ throughput: 30_000, indexingPolicy })
  await fill(container)
})
afterAll(() => interop.close())

async function fill(target: Container): Promise<void> {
  for (let n = 0; n < COUNT; n++) {
    const kind = n % 3 === 0 ? 'fizz' : 'other'
    await target.items.create({ id: `d${n}`, pk: `p${n}`, n, kind })
  }
}

const QUERIES = [
  'SELECT VALUE c.n FROM c ORDER BY c.n DESC',
  'SELECT VALUE c.n FROM c ORDER BY c.kind, c.n DESC',
  'SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n',
  'SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 20',
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT VALUE AVG(c.n) FROM c WHERE c.n > 3',
  'SELECT COUNT(1) AS count, MAX(c.n) AS most FROM c',
  'SELECT DISTINCT VALUE c.kind FROM c',
  'SELECT DISTINCT c.kind FROM c ORDER BY c.kind',
  'SELECT c.kind, SUM(c.n) AS sum FROM c GROUP BY c.kind',
  'SELECT VALUE c.n FROM c WHERE c.n % 2 = 0',
  'SELECT VALUE c.n FROM c WHERE c.pk = "p7" ORDER BY c.n OFFSET 0 LIMIT 3',
  'SELECT VALUE COUNT(1) FROM c WHERE c.pk = "p7"',
  'SELECT VALUE MIN(c.none) FROM c',
  'SELECT DISTINCT TOP 2 VALUE c.kind FROM c',
  'SELECT c.kind AS k, MIN(c.n), MAX(c.id) AS m, AVG(c.n) AS a FROM c GROUP BY c.kind OFFSET 0 LIMIT 5',
  'SELECT c.kind, x FROM c JOIN x IN [c.n, 1] ORDER BY c.n DESC OFFSET 3 LIMIT 4',
  'SELECT VALUE 5',
]

const WAYS: readonly (readonly [string, FeedOptions])[] = [
  ['forceQueryPlan', { forceQueryPlan: true }],
  ['enableQueryControl', { enableQueryControl: true }],
  [
    'both, in small pages, all ranges at once',
    {
      forceQueryPlan: true,
      enableQueryControl: true,
      maxItemCount: 3,
      maxDegreeOfParallelism: 9,
    },
  ],
  [
    'forceQueryPlan in small pages, buffered',
    { forceQueryPlan: true, maxItemCount: 4, bufferItems: true },
  ],
]

describe('Queries: plans', () => {
  test.each(WAYS)(
    '%s: rows, and their order where there is one, are those without a plan',
    async (_way, options) => {
      for (const query of QUERIES) {
        const plain = await container.items.query<unknown>(query).fetchAll()
        const { items } = await pagesOf(container.items.query<unknown>(query, options))
        const isOrdered = query.includes('ORDER BY')
        const rows = isOrdered ? items : sortedTexts(items)
        expect(rows, query).toEqual(isOrdered ? plain.resources : sortedTexts(plain.resources))
      }
    },
  )

  test('enableQueryControl: a token of its own making goes on in another client, also after a split', async () => {
    const split = await interop.container({ throughput: 20_000 })
    await fill(split)
    for (const query of ['SELECT VALUE c.n FROM c', 'SELECT VALUE c.n FROM c ORDER BY c.n DESC']) {
      const options = { enableQueryControl: true, maxItemCount: 15 }
      const all: number[] = []
      let continuationToken: string | undefined
      for (let page = 0; page < 40; page++) {
        const { items } = interop.connect().database(split.database.id).container(split.id)
        const iterator = items.query<number>(query, {
          ...options,
          ...(continuationToken !== undefined && { continuationToken }),
        })
        const answer = await iterator.fetchNext()
        all.push(...answer.resources)
        continuationToken = answer.continuationToken
        if (continuationToken === undefined) break
        expect(continuationToken).toContain('"rangeMappings"')
        if (page === 0) await splitOther(split, continuationToken)
      }
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, n) => n))
      if (query.includes('ORDER')) expect(all).toEqual(all.toSorted((a, b) => b - a))
    }
  })

  // Ties are where it has to know which of equal rows it had: 2 of 3 documents here are equal.
  test.each(['c.n DESC', 'c.kind', 'c.kind DESC'])(
    'enableQueryControl: ORDER BY %s goes on from token to token without losing or repeating rows',
    async (order) => {
      const all: number[] = []
      let continuationToken: string | undefined
      do {
        const iterator = container.items.query<number>(
          `SELECT VALUE c.n FROM c ORDER BY ${order}`,
          {
            enableQueryControl: true,
            maxItemCount: 4,
            ...(continuationToken !== undefined && { continuationToken }),
          },
        )
        const page = await iterator.fetchNext()
        all.push(...page.resources)
        continuationToken = page.continuationToken
      } while (continuationToken !== undefined && all.length <= COUNT)
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, n) => n))
    },
  )

  test('a plan goes on over a split between two pages', async () => {
    const splitting = await interop.container({ throughput: 20_000 })
    await fill(splitting)
    for (const query of ['SELECT VALUE c.n FROM c ORDER BY c.n', 'SELECT VALUE c.n FROM c']) {
      const iterator = splitting.items.query<number>(query, {
        forceQueryPlan: true,
        maxItemCount: 5,
      })
      const first = (await iterator.fetchNext()).resources
      await splitFirst(splitting)
      const { items } = await pagesOf(iterator)
      const all = [...first, ...items]
      expect(all.toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, n) => n))
      if (query.includes('ORDER')) expect(all).toEqual(all.toSorted((a, b) => a - b))
    }
  })

  test('a query sent to one pkrange without a plan concerns that range alone', async () => {
    const { resources: ranges } = await container.readPartitionKeyRanges().fetchAll()
    const counts: number[] = []
    const ordered: number[][] = []
    for (const { id } of ranges) {
      counts.push(...(await ofRange(id, 'SELECT VALUE COUNT(1) FROM c')))
      ordered.push(await ofRange(id, 'SELECT VALUE c.n FROM c ORDER BY c.n'))
    }
    expect(counts).toHaveLength(3)
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(COUNT)
    expect(ordered.map((rows) => rows.length)).toEqual(counts)
    for (const rows of ordered) expect(rows).toEqual(rows.toSorted((a, b) => a - b))
    expect(new Set(ordered.flat()).size).toBe(COUNT)
  })

  test('a query of an EPK range across pkranges concerns that range alone', async () => {
    const body = { query: 'SELECT VALUE COUNT(1) FROM c' }
    const halves: number[] = []
    for (const [start, end] of [
      ['', '20'],
      ['20', 'FF'],
    ] as const) {
      const answer = await interop.send({
        method: 'POST',
        path: `${pathOf(container)}/docs`,
        headers: { ...QUERY, 'x-ms-start-epk': start, 'x-ms-end-epk': end },
        body,
      })
      halves.push(...((answer.json?.['Documents'] ?? []) as number[]))
    }
    expect(halves).toHaveLength(2)
    expect(halves[0]! + halves[1]!).toBe(COUNT)
  })
})

function sortedTexts(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted()
}

async function splitFirst(target: Container): Promise<void> {
  const { resources: ranges } = await target.readPartitionKeyRanges().fetchAll()
  await interop.split(target, ranges[0]!.id)
}

/**
 * Splits a range that a client's token does not name: @azure/cosmos 4.10 repeats rows when the range that it goes on in has
 * split and one of the parts has no rows left (`BaseContinuationTokenManager` keeps such a part for ever).
 */
async function splitOther(target: Container, token: string): Promise<void> {
  const { rangeMappings } = JSON.parse(token) as {
    rangeMappings: { queryRange: { min: string } }[]
  }
  const named = new Set(rangeMappings.map(({ queryRange }) => queryRange.min))
  const { resources: ranges } = await target.readPartitionKeyRanges().fetchAll()
  await interop.split(target, ranges.find(({ minInclusive }) => !named.has(minInclusive))!.id)
}

const QUERY = { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' }

async function ofRange(id: string, query: string): Promise<number[]> {
  const answer = await interop.send({
    method: 'POST',
    path: `${pathOf(container)}/docs`,
    headers: { ...QUERY, 'x-ms-documentdb-partitionkeyrangeid': id },
    body: { query },
  })
  expect(answer.status).toBe(200)
  return (answer.json?.['Documents'] ?? []) as number[]
}
