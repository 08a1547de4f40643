import type { Container } from '@azure/cosmos'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openInterop, pathOf, type Interop } from './interop.fixture.ts'
import type { WireAnswer } from './signed-request.ts'

/*
 * How clients run a query themselves, each range by itself. source: CosmosQueryExecutionContextFactory of
 * azure-cosmos-dotnet-v3 (which of its pipelines a plan leads to, and that Passthrough sends the query as it is), and
 * PipelinedDocumentQueryExecutionContext and FeedRangeEpkImpl of the service's Java client (the plan's text, with the EPKs of
 * its own ranges).
 */

interface Interval {
  readonly min: string
  readonly max: string
}

interface PlanInfo {
  readonly queryInfo: {
    readonly rewrittenQuery: string
    readonly hasSelectValue: boolean
  } & Readonly<Record<string, unknown>>
  readonly queryRanges: readonly (Interval & { readonly isMaxInclusive: boolean })[]
}

interface PkRange {
  readonly id: string
  readonly minInclusive: string
  readonly maxExclusive: string
  readonly parents: readonly string[]
}

interface OrderedRow {
  readonly _rid: string
  readonly orderByItems: readonly { readonly item: number }[]
  readonly payload: number
}

const QUERY = {
  'content-type': 'application/query+json',
  'x-ms-documentdb-isquery': 'True',
  'x-ms-documentdb-query-enablecrosspartition': 'True',
}
const COUNT = 60
const NUMBERS = Array.from({ length: COUNT }, (_, n) => n)

let interop: Interop
beforeAll(async () => {
  interop = await openInterop()
})
afterAll(() => interop.close())

async function filled(throughput: number): Promise<Container> {
  const container = await interop.container({ throughput })
  for (const n of NUMBERS) await container.items.create({ id: `d${n}`, pk: `p${n}`, n, of: [n, n] })
  return container
}

function post(
  container: Container,
  headers: Readonly<Record<string, string>>,
  text: string,
): Promise<WireAnswer> {
  return interop.send({
    method: 'POST',
    path: `${pathOf(container)}/docs`,
    headers: { ...QUERY, ...headers },
    body: { query: text, parameters: [] },
  })
}

async function planOf(container: Container, text: string): Promise<PlanInfo> {
  const headers = { 'x-ms-cosmos-is-query-plan-request': 'True' }
  const answer = await post(container, headers, text)
  expect(answer.status).toBe(200)
  return answer.json as unknown as PlanInfo
}

async function rangesOf(container: Container): Promise<readonly PkRange[]> {
  const { json } = await interop.send({ path: `${pathOf(container)}/pkranges` })
  return json?.['PartitionKeyRanges'] as readonly PkRange[]
}

/** All pages of a query to one range; `epks` narrow it. */
async function ofRange<T>(
  container: Container,
  text: string,
  { id, epks, continuation }: { id: string; epks?: Interval; continuation?: string },
): Promise<T[]> {
  const rows: T[] = []
  let next = continuation
  do {
    const answer = await post(
      container,
      {
        'x-ms-max-item-count': '7',
        'x-ms-documentdb-partitionkeyrangeid': id,
        ...(epks && {
          'x-ms-read-key-type': 'EffectivePartitionKeyRange',
          'x-ms-start-epk': epks.min,
          'x-ms-end-epk': epks.max,
        }),
        ...(next !== undefined && { 'x-ms-continuation': next }),
      },
      text,
    )
    expect(answer.status).toBe(200)
    rows.push(...(answer.json?.['Documents'] as T[]))
    next = answer.headers.get('x-ms-continuation') ?? undefined
  } while (next !== undefined)
  return rows
}

/** What a client sends to a range by a plan, at the first time. */
async function plannedText(container: Container, text: string): Promise<string> {
  const { queryInfo } = await planOf(container, text)
  const { rewrittenQuery } = queryInfo
  return rewrittenQuery === ''
    ? text
    : rewrittenQuery.replace('{documentdb-formattableorderbyquery-filter}', 'true')
}

function ascending(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b)
}

const EVERYWHERE = { min: '', max: 'FF', isMinInclusive: true, isMaxInclusive: false }

/** A plan that has the .NET client send the query as it is. */
const PASSTHROUGH = {
  distinctType: 'None',
  top: null,
  offset: null,
  limit: null,
  orderBy: [],
  groupByExpressions: [],
  aggregates: [],
  groupByAliasToAggregateType: {},
  rewrittenQuery: '',
  hasNonStreamingOrderBy: false,
}

describe('Queries: a client that sends the query as it is to each range', () => {
  test('has every row once, over three ranges', async () => {
    const container = await filled(30_000)
    const ranges = await rangesOf(container)
    expect(ranges).toHaveLength(3)
    for (const [text, all] of [
      ['SELECT * FROM c', NUMBERS],
      ['SELECT c.n FROM c WHERE c.n >= 10', NUMBERS.slice(10)],
      ['SELECT x AS n FROM c JOIN x IN c.of', NUMBERS.flatMap((n) => [n, n])],
    ] as const) {
      const plan = await planOf(container, text)
      expect(plan.queryInfo).toMatchObject({ ...PASSTHROUGH, hasSelectValue: false })
      expect(plan.queryRanges).toEqual([EVERYWHERE])
      const rows = await Promise.all(
        ranges.map(({ id }) => ofRange<{ n: number }>(container, text, { id })),
      )
      for (const part of rows) expect(part.length).toBeLessThan(all.length)
      expect(ascending(rows.flat().map(({ n }) => n)), text).toEqual(all)
    }
  })

  test.each([
    'SELECT * FROM c',
    'SELECT c.n FROM c WHERE c.n >= 0',
    'SELECT c.n FROM c ORDER BY c.n',
  ])(
    'has every row once over a split between two pages, in the old range and in both of the new: %s',
    async (text) => {
      const container = await filled(400)
      const id = '0'
      const first = await post(
        container,
        { 'x-ms-documentdb-partitionkeyrangeid': id, 'x-ms-max-item-count': '20' },
        text,
      )
      const given = first.json?.['Documents'] as readonly { n: number }[]
      expect(given).toHaveLength(20)
      const continuation = first.headers.get('x-ms-continuation') ?? ''
      await interop.split(container, id)
      const ranges = await rangesOf(container)
      expect(ranges.map(({ parents }) => parents)).toEqual([['0'], ['0']])
      const old = await ofRange<{ n: number }>(container, text, { id, continuation })
      const fresh = await Promise.all(
        ranges.map((range) =>
          ofRange<{ n: number }>(container, text, { id: range.id, continuation }),
        ),
      )
      for (const rest of [old, fresh.flat()]) {
        expect(ascending([...given, ...rest].map(({ n }) => n))).toEqual(NUMBERS)
      }
    },
  )

  test('is told to run it again where a split tore apart the rows of one document', async () => {
    const container = await filled(400)
    const text = 'SELECT VALUE x FROM c JOIN x IN c.of'
    const first = await post(container, { 'x-ms-max-item-count': '7' }, text)
    const continuation = first.headers.get('x-ms-continuation') ?? ''
    await interop.split(container, '0')
    const [{ id } = { id: '' }] = await rangesOf(container)
    const headers = {
      'x-ms-documentdb-partitionkeyrangeid': id,
      'x-ms-continuation': continuation,
    }
    expect(await post(container, headers, text)).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('run the query again') },
    })
  })

  test('has 410 from a range that was merged, and rows from one that has split twice', async () => {
    const container = await filled(400)
    const text = 'SELECT VALUE c.n FROM c WHERE c.n >= 0'
    await interop.split(container, '0')
    const [low, high] = await rangesOf(container)
    await interop.split(container, high!.id)
    expect(ascending(await ofRange(container, text, { id: '0' }))).toEqual(NUMBERS)
    const upper = await ofRange<number>(container, text, { id: high!.id })
    const [, middle] = await rangesOf(container)
    const collection = interop.store.database('interop').collection(container.id)
    await collection.merge(low!.id, middle!.id)
    expect(upper.length).toBeGreaterThan(0)
    for (const id of ['0', low!.id, middle!.id, high!.id]) {
      const headers = { 'x-ms-documentdb-partitionkeyrangeid': id }
      const answer = await post(container, headers, text)
      expect(answer.status).toBe(410)
      expect(answer.headers.get('x-ms-substatus')).toBe('1002')
    }
  })

  test('goes to one key where WHERE names it, and only to one range without FROM', async () => {
    const container = await filled(30_000)
    const { queryRanges } = await planOf(container, 'SELECT * FROM c WHERE c.pk = "p7" AND c.n > 1')
    expect(queryRanges).toHaveLength(1)
    const [{ min, max, isMaxInclusive }] = queryRanges as [PlanInfo['queryRanges'][0]]
    expect({ isPoint: min === max && min.length === 32, isMaxInclusive }).toEqual({
      isPoint: true,
      isMaxInclusive: true,
    })
    const rows = await Promise.all(
      (await rangesOf(container)).map(({ id }) =>
        ofRange(container, 'SELECT VALUE c.n FROM c WHERE c.pk = "p7"', { id }),
      ),
    )
    expect(rows.flat()).toEqual([7])
    const constant = await container.items
      .query('SELECT VALUE 5', { forceQueryPlan: true })
      .fetchAll()
    expect(constant.resources).toEqual([5])
  })
})

describe('Queries: a client that sends the plan’s text to ranges of its own', () => {
  /** The whole and parts of it that begin and end inside ranges. */
  const FEED_RANGES = ['', '08', '2A', '2B00', 'FF']

  async function overFeedRanges<T>(container: Container, text: string): Promise<T[][]> {
    const planned = await plannedText(container, text)
    const ranges = await rangesOf(container)
    return Promise.all(
      FEED_RANGES.slice(1).map(async (max, index) => {
        const min = FEED_RANGES[index] ?? ''
        const parts = ranges
          .filter(({ minInclusive, maxExclusive }) => minInclusive < max && min < maxExclusive)
          .map(({ id }) => ofRange<T>(container, planned, { id, epks: { min, max } }))
        return (await Promise.all(parts)).flat()
      }),
    )
  }

  test('has each row in one of its ranges, and groups and counts of each', async () => {
    const container = await filled(30_000)
    const all = await overFeedRanges<{ n: number }>(container, 'SELECT * FROM c')
    expect(ascending(all.flat().map(({ n }) => n))).toEqual(NUMBERS)
    const sizes = all.map((rows) => rows.length)
    expect(sizes.filter((size) => size > 0).length).toBeGreaterThan(2)

    const ordered = await overFeedRanges<OrderedRow>(
      container,
      'SELECT VALUE c.n FROM c ORDER BY c.n DESC',
    )
    expect(ordered.map((rows) => rows.length)).toEqual(sizes)
    expect(ascending(ordered.flat().map(({ payload }) => payload))).toEqual(NUMBERS)
    for (const { orderByItems, payload } of ordered.flat())
      expect(orderByItems).toEqual([{ item: payload }])

    const counts = await overFeedRanges<[{ item: number }]>(
      container,
      'SELECT VALUE COUNT(1) FROM c',
    )
    const sums = counts.map((parts) => parts.reduce((sum, [{ item }]) => sum + item, 0))
    expect(sums).toEqual(sizes)
  })

  test('has the rows of a range of before a split', async () => {
    const container = await filled(20_000)
    const text = await plannedText(container, 'SELECT VALUE c.n FROM c ORDER BY c.n')
    const before = await rangesOf(container)
    for (const { id } of before) await interop.split(container, id)
    const after = await rangesOf(container)
    expect(after).toHaveLength(4)
    const rows: OrderedRow[] = []
    for (const { minInclusive: min, maxExclusive: max } of before) {
      for (const { id, minInclusive, maxExclusive } of after) {
        if (minInclusive < max && min < maxExclusive)
          rows.push(...(await ofRange<OrderedRow>(container, text, { id, epks: { min, max } })))
      }
    }
    expect(ascending(rows.map(({ payload }) => payload))).toEqual(NUMBERS)
  })

  test('has nothing of a range that has none of its keys', async () => {
    const container = await filled(20_000)
    const [, second] = await rangesOf(container)
    for (const text of ['SELECT * FROM c', 'SELECT c.n FROM c', 'SELECT c.n FROM c ORDER BY c.n']) {
      const rows = await ofRange(container, text, {
        id: second!.id,
        epks: { min: '', max: second!.minInclusive },
      })
      expect(rows).toEqual([])
    }
  })

  test('has the rows of a prefix of a hierarchical key, by its EPKs and by its header', async () => {
    const partitionKey = { paths: ['/t', '/u'], kind: 'MultiHash', version: 2 } as never
    const container = await interop.container({ throughput: 20_000, partitionKey })
    for (const n of NUMBERS) {
      await container.items.create({
        id: `d${n}`,
        t: n % 4 === 0 ? 'A' : `t${n % 4}`,
        u: `u${n}`,
        n,
      })
    }
    const wanted = NUMBERS.filter((n) => n % 4 === 0)
    // The EPK of "A", as the service's client computes it.
    const min = '14F53A0810CE6727EB1CD722D321216F'
    const epks = { min, max: `${min}FF` }
    const text = 'SELECT VALUE c.n FROM c WHERE c.n >= 0 ORDER BY c.n'
    const planned = await plannedText(container, text)
    const id = (await rangesOf(container)).find(
      ({ minInclusive, maxExclusive }) => minInclusive <= min && min < maxExclusive,
    )!.id
    expect(await ofRange(container, text, { id, epks })).toEqual(wanted)
    const rows = await ofRange<OrderedRow>(container, planned, { id, epks })
    expect(rows.map(({ payload }) => payload)).toEqual(wanted)
    const byHeader = await post(container, { 'x-ms-documentdb-partitionkey': '["A"]' }, text)
    expect(byHeader.json?.['Documents']).toEqual(wanted)
    const { queryRanges } = await planOf(container, 'SELECT * FROM c WHERE c.t = "A"')
    expect(queryRanges).toEqual([{ ...EVERYWHERE, ...epks }])
  })
})

// NonValueAggregates and GroupBy of QueryPlanBaselineTests have the 400, ThrowIfNotSupported of QueryPlanHandler the other.
describe('Queries: what cannot be planned', () => {
  test('is 400, and served without a plan', async () => {
    const container = await filled(20_000)
    const text = 'SELECT VALUE {"count": COUNT(1)} FROM c'
    const headers = { 'x-ms-cosmos-is-query-plan-request': 'True' }
    expect(await post(container, headers, text)).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('Compositions of aggregates') },
    })
    expect((await post(container, {}, text)).json?.['Documents']).toEqual([{ count: COUNT }])
  })

  test('is 400 where the client says that it cannot merge it', async () => {
    const container = await filled(20_000)
    const headers = {
      'x-ms-cosmos-is-query-plan-request': 'True',
      'x-ms-cosmos-supported-query-features': 'Aggregate, Distinct, OrderBy, Top',
    }
    const answer = await post(container, headers, 'SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n')
    expect(answer).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('does not support GroupBy') },
    })
  })
})
