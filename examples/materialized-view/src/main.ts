import { parseArgs } from 'node:util'
import { DocumentLeaseStore, openStore } from 'tidemark'
import { populationView } from './population-view.ts'

/* Keeps the view `population` of `world/cities` up to date. Any number of these share the work. */

const { values } = parseArgs({ options: { store: { type: 'string', default: './data' } } })

const store = await openStore(values.store)
const world = store.database('world')
await world.createCollectionIfNotExists({ id: 'cities', partitionKey: '/id', partitionCount: 4 })
const leases = await world.createCollectionIfNotExists({
  id: 'leases',
  partitionKey: '/partitionKey',
})

const view = populationView(world, new DocumentLeaseStore(leases))
process.once('SIGTERM', () => void view.stop())
process.once('SIGINT', () => void view.stop())
await view.start()
console.error('the view is kept')
await view.finished
await store.close()
