import { orderDocument } from '../../data/order-document.ts'
import type { Figures, Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { rateOfConcurrent } from '../../measuring/stopwatch.ts'
import { PrototypeData } from '../../raw/prototype-data.ts'
import { SEGMENTS } from '../../raw/prototype-schema.ts'
import { loadOrders } from '../../store/load-orders.ts'
import { openBenchStore } from '../../store/open-bench-store.ts'
import { startBenchServer } from '../bench-server.ts'
import { loadPrototype } from '../load-prototype.ts'
import { PrototypeFeed } from '../raw/prototype-feed.ts'
import { PrototypeGroups } from '../raw/prototype-groups.ts'
import { RoundReader } from '../round-reader.ts'

const WRITERS = 64
const PAGE_SIZE = 1_000
const GROWTH = 10
/** Steps through the documents so that neighbours in time are far apart in the tables. */
const STRIDE = 7_919

function measureOf(what: 'write' | 'read'): Measure {
  return {
    name: `postgres.growth.${what}`,
    unit: 'times',
    rawIs: 'the same of the bare prototype',
    goal: { of: 'value', is: 'atMost', limit: 1.3 },
  }
}

/** What a document costs in a store with ten times as many, as a multiple. */
export const postgresGrowth: Scenario = {
  name: 'postgres-growth',
  measures: [measureOf('write'), measureOf('read')],
  async prepare({ manyDocuments }): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const open = async (side: typeof openOurs, count: number): Promise<Side> =>
      side(await server.createDatabase(), count)
    const few = Math.ceil(manyDocuments / GROWTH)
    const ours = { few: await open(openOurs, few), many: await open(openOurs, manyDocuments) }
    const raw = { few: await open(openRaw, few), many: await open(openRaw, manyDocuments) }
    return {
      ours: (seconds) => growth(ours, seconds),
      raw: (seconds) => growth(raw, seconds),
      async [Symbol.asyncDispose]() {
        for (const side of [ours.few, ours.many, raw.few, raw.many]) {
          await side[Symbol.asyncDispose]()
        }
        await server[Symbol.asyncDispose]()
      },
    }
  },
}

/** A store with so many documents. */
interface Side extends AsyncDisposable {
  readonly documents: number
  write(index: number, revision: number): Promise<unknown>
  readonly reader: { measure(seconds: number): Promise<number> }
}

async function growth(
  { few, many }: { readonly few: Side; readonly many: Side },
  seconds: number,
): Promise<Figures> {
  const writes = { few: await writeRate(few, seconds), many: await writeRate(many, seconds) }
  const reads = {
    few: await few.reader.measure(seconds),
    many: await many.reader.measure(seconds),
  }
  return {
    'postgres.growth.write': writes.few / writes.many,
    'postgres.growth.read': reads.few / reads.many,
  }
}

async function writeRate(side: Side, seconds: number): Promise<number> {
  let revision = 1
  const { perSecond } = await rateOfConcurrent(
    async () => {
      revision++
      await side.write((revision * STRIDE) % side.documents, revision)
      return 1
    },
    { writers: WRITERS, seconds },
  )
  return perSecond
}

async function openOurs(url: string, documents: number): Promise<Side> {
  const store = await openBenchStore(url)
  await loadOrders(store, documents)
  const { orders } = store
  const ranges = await orders.readFeedRanges()
  const reader = new RoundReader<string>(ranges.length, async (number, from) => {
    const range = ranges[number]!
    const continuation =
      from ?? (await orders.resolveStart({ range, start: 'beginning' })).continuation
    const page = await orders.readPage({ range, continuation, maxItemCount: PAGE_SIZE })
    return { documents: page.changes.length, next: page.continuation, isLast: page.caughtUp }
  })
  return {
    documents,
    reader,
    write: (index, revision) => orders.upsert(orderDocument(index, revision)),
    [Symbol.asyncDispose]: () => store.close(),
  }
}

async function openRaw(url: string, documents: number): Promise<Side> {
  await loadPrototype(url, { count: documents, segments: SEGMENTS })
  const groups = new PrototypeGroups(url)
  const data = new PrototypeData()
  const feed = await PrototypeFeed.open(url, SEGMENTS)
  const reader = new RoundReader<number>(SEGMENTS, async (segment, from = 0) => {
    const rows = await feed.page(segment, from, PAGE_SIZE)
    const parsed = rows.map(([, body]): unknown => JSON.parse(body))
    const next = Number(rows.at(-1)?.[0] ?? 0)
    return { documents: parsed.length, next, isLast: rows.length < PAGE_SIZE }
  })
  return {
    documents,
    reader,
    write: (index, revision) => groups.write(data.write(index, revision)),
    async [Symbol.asyncDispose]() {
      await groups[Symbol.asyncDispose]()
      await feed[Symbol.asyncDispose]()
    },
  }
}
