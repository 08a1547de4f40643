import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from 'tidemark'
import { CityChanges } from './city-changes.ts'
import { readCities, type City } from './city.ts'
import { DATABASE, SOURCE, planFromArgument } from './demo-plan.ts'
import { tellParent } from './messages.ts'

/* Keeps changing the source while it is migrated, and remembers exactly what was acknowledged. */

const [, , , argument] = process.argv
const { where, writesPerSecond, cities } = planFromArgument(argument)

const TICK_MS = 20
await using store = await openStore(where)
const source = store.database(DATABASE).collection<City>(SOURCE)
const changes = new CityChanges(readCities().slice(0, cities))
const ledger = new Map<string, City>()
let writes = 0
let stopping = false
process.once('message', () => (stopping = true))
process.once('disconnect', () => (stopping = true))
await tellParent({ kind: 'ready' })

const started = performance.now()
let begun = 0
while (!stopping) {
  const due = Math.floor(((performance.now() - started) / 1000) * writesPerSecond) - begun
  const batch = Array.from({ length: Math.max(0, due) }, () => changes.next().city)
  begun += batch.length
  // Changes of one city must not overtake each other; those of a tick concern different cities.
  await Promise.all(distinct(batch).map((group) => writeInOrder(group)))
  await tellParent({ kind: 'written', writes })
  await sleep(TICK_MS)
}
await tellParent({ kind: 'ledger', writes, cities: [...ledger.values()] })
if (process.connected) process.disconnect()

async function writeInOrder(versions: readonly City[]): Promise<void> {
  for (const city of versions) {
    await source.upsert(city)
    // Only what was acknowledged.
    ledger.set(city.id, city)
    writes += 1
  }
}

function distinct(batch: readonly City[]): readonly City[][] {
  return [...Map.groupBy(batch, ({ id }) => id).values()]
}
