import { beforeEach, expect, test } from 'vitest'
import {
  feedRangeId,
  openStore,
  type Change,
  type Collection,
  type FeedRange,
  type ObserverContext,
  type Store,
} from 'tidemark'
import {
  PopulationView,
  openViewCollections,
  type City,
  type ViewCollections,
} from './population-view.ts'

let store: Store
let cities: Collection<City>
let view: ViewCollections
let observer: PopulationView

beforeEach(async () => {
  store = await openStore(':memory:')
  const world = store.database('world')
  cities = await world.createCollectionIfNotExists<City>({
    id: 'cities',
    partitionKey: '/id',
    partitionCount: 4,
  })
  view = await openViewCollections(world)
  observer = new PopulationView(view)
})

test('JB-3 the population of a country follows growth, moves and marked deletes of its cities', async () => {
  await cities.upsert({ id: 'a', country: 'X', population: 10 })
  await cities.upsert({ id: 'b', country: 'X', population: 5 })
  await cities.upsert({ id: 'c', country: 'Y', population: 1 })
  await deliverAll()
  expect(await totals()).toEqual({ X: [15, 2], Y: [1, 1] })
  await cities.upsert({ id: 'a', country: 'X', population: 12 })
  await cities.upsert({ id: 'b', country: 'Y', population: 6 })
  await deliverAll()
  expect(await totals()).toEqual({ X: [12, 1], Y: [7, 2] })
  await cities.upsert({ id: 'c', country: 'Y', population: 1, deleted: true })
  await deliverAll()
  expect(await totals()).toEqual({ X: [12, 1], Y: [6, 1] })
})

test('JB-3 a batch that comes again, whole or in part, changes nothing', async () => {
  await cities.upsert({ id: 'a', country: 'X', population: 10 })
  await deliverAll()
  const before = await view.countries.readDocuments()
  await deliverAll()
  expect(await view.countries.readDocuments()).toEqual(before)
  await cities.upsert({ id: 'b', country: 'X', population: 5 })
  await deliverAll()
  expect(await totals()).toEqual({ X: [15, 2] })
})

test('JB-3 ranges that change one country side by side lose nothing of each other', async () => {
  const expected = [0, 0]
  for (let index = 0; index < 200; index += 1) {
    await cities.upsert({ id: `city-${index}`, country: 'X', population: index })
    expected[0]! += index
    expected[1]! += 1
  }
  const ranges = await cities.readFeedRanges()
  await Promise.all(ranges.map((range) => deliver(range, 1)))
  expect(await totals()).toEqual({ X: expected })
})

test('JB-3 ranges that split while no worker runs: their parts repeat everything, and go on', async () => {
  for (let index = 0; index < 40; index += 1) {
    await cities.upsert({ id: `city-${index}`, country: 'X', population: 1 })
  }
  await deliverAll()
  for (const { id = '' } of await cities.readFeedRanges()) await cities.split(id)
  observer = new PopulationView(view)
  await deliverAll(2)
  expect(await totals()).toEqual({ X: [40, 40] })
  await cities.upsert({ id: 'city-7', country: 'Y', population: 3 })
  await deliverAll(2)
  expect(await totals()).toEqual({ X: [39, 39], Y: [3, 1] })
})

test('LE-11 a worker that lost its range is refused and leaves no trace', async () => {
  await cities.upsert({ id: 'a', country: 'X', population: 10 })
  const [range] = await rangesWithChanges()
  const stale = await changesOf(range!)
  await deliver(range!, 2)
  await cities.upsert({ id: 'a', country: 'X', population: 11 })
  await deliver(range!, 2)
  // New to this worker's eyes, so that only the fence stands between it and the view.
  const forged = stale.map((change) => ({ ...change, lsn: 1_000 as typeof change.lsn }))
  await expect(observer.processChanges(context(range!, 1), forged)).rejects.toMatchObject({
    code: 'ERR_FENCED_WRITE',
  })
  expect(await totals()).toEqual({ X: [11, 1] })
})

async function deliverAll(epoch = 1): Promise<void> {
  for (const range of await cities.readFeedRanges()) await deliver(range, epoch)
}

async function deliver(range: FeedRange, epoch: number): Promise<void> {
  const changes = await changesOf(range)
  if (changes.length > 0) await observer.processChanges(context(range, epoch), changes)
}

async function changesOf(range: FeedRange): Promise<readonly Change<City>[]> {
  const { continuation } = await cities.resolveStart({ range, start: 'beginning' })
  return (await cities.readPage({ range, continuation })).changes
}

async function rangesWithChanges(): Promise<readonly FeedRange[]> {
  const ranges = await cities.readFeedRanges()
  const pages = await Promise.all(ranges.map((range) => changesOf(range)))
  return ranges.filter((_, index) => pages[index]!.length > 0)
}

function context(range: FeedRange, epoch: number): ObserverContext {
  return {
    hostName: 'test',
    group: 'population',
    leaseId: feedRangeId(range),
    range,
    fence: { generation: 'g', epoch, lsn: 0 },
    signal: new AbortController().signal,
    attempt: 1,
    redriven: false,
    async checkpoint() {},
  }
}

async function totals(): Promise<Record<string, readonly number[]>> {
  const { documents } = await view.countries.readDocuments()
  return Object.fromEntries(
    documents.map(({ id, population, cities: count }) => [id, [population, count]]),
  )
}
