import { parseArgs } from 'node:util'
import { ChangeFeedProcessorHost, DocumentLeaseStore, openStore } from 'tidemark'
import { PopulationView, openViewCollections, type City } from './population-view.ts'

/* Keeps `world/populationByCountry` up to date with `world/cities`. Any number of these share the work. */

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: './data' },
    name: { type: 'string', default: `view-${process.pid}` },
  },
})

const store = await openStore(values.store)
const world = store.database('world')
const cities = await world.createCollectionIfNotExists<City>({
  id: 'cities',
  partitionKey: '/id',
  partitionCount: 4,
})
const leases = await world.createCollectionIfNotExists({
  id: 'leases',
  partitionKey: '/partitionKey',
})
const view = await openViewCollections(world)

const host = new ChangeFeedProcessorHost<City>({
  hostName: values.name,
  group: 'population',
  feed: cities,
  leases: new DocumentLeaseStore(leases),
  feedOptions: { startFromBeginning: true, maxItemCount: 200 },
})
host.on('observerError', ({ error, attempt }) => console.error(`attempt ${attempt} failed:`, error))

const stopped = new Promise<void>((resolve) => {
  process.once('SIGTERM', () => resolve())
  process.once('SIGINT', () => resolve())
  host.on('stopped', () => resolve())
})
await host.registerObserver(new PopulationView(view))
console.error(`${values.name} is ready`)
await stopped
await host.unregisterObservers()
await store.close()
