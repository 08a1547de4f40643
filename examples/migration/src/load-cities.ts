import type { Collection } from 'tidemark'
import type { City } from './city.ts'

const BATCH = 100
const IN_FLIGHT = 32

/** Writes all cities, a transaction for up to 100 of one country, many side by side. */
export async function loadCities(
  collection: Collection<City>,
  cities: readonly City[],
  onLoaded: (count: number) => void,
): Promise<void> {
  const batches = batchesByCountry(cities)
  let next = 0
  const load = async (): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      const [first] = batch
      await collection.batch(
        first?.country,
        batch.map((document) => ({ kind: 'upsert', document })),
      )
      onLoaded(batch.length)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, load))
}

function batchesByCountry(cities: readonly City[]): readonly (readonly City[])[] {
  return [...Map.groupBy(cities, ({ country }) => country).values()].flatMap((ofCountry) =>
    Array.from({ length: Math.ceil(ofCountry.length / BATCH) }, (_, index) =>
      ofCountry.slice(index * BATCH, (index + 1) * BATCH),
    ),
  )
}
