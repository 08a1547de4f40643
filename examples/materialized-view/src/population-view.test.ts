import { beforeEach, expect, test } from 'vitest'
import { MemoryLeaseStore, openStore, openView, type Collection, type Database } from 'tidemark'
import { populationView, type City } from './population-view.ts'

let world: Database
let cities: Collection<City>

beforeEach(async () => {
  const store = await openStore(':memory:')
  world = store.database('world')
  cities = await world.createCollectionIfNotExists<City>({
    id: 'cities',
    partitionKey: '/id',
    partitionCount: 4,
  })
})

test('JB-3 the population of a country follows growth, moves and marked deletes of its cities', async () => {
  await cities.upsert({ id: 'a', country: 'X', population: 10 })
  await cities.upsert({ id: 'b', country: 'X', population: 5 })
  await cities.upsert({ id: 'c', country: 'Y', population: 1 })
  await using job = populationView(world, new MemoryLeaseStore())
  await job.start()
  await job.caughtUp()
  const view = openView(world, 'population')
  expect(await view.read('X')).toMatchObject({ cities: 2, population: 15, largest: ['a', 'b'] })
  await cities.upsert({ id: 'a', country: 'Y', population: 12 })
  await cities.upsert({ id: 'c', country: 'Y', population: 1, deleted: true })
  await job.caughtUp()
  expect(await view.read('X')).toMatchObject({ cities: 1, population: 5, largest: ['b'] })
  expect(await view.read('Y')).toMatchObject({ cities: 1, population: 12, largest: ['a'] })
})

test('JB-3 ranges that split meanwhile count each city once', async () => {
  await using job = populationView(world, new MemoryLeaseStore())
  await job.start()
  for (let index = 0; index < 80; index += 1) {
    await cities.upsert({ id: `city-${index}`, country: 'X', population: index })
    if (index === 40)
      for (const { id = '' } of await cities.readFeedRanges()) await cities.split(id)
  }
  await job.caughtUp()
  expect(await job.view.read('X')).toMatchObject({ cities: 80, population: (79 * 80) / 2 })
})
