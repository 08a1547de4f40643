import {
  count,
  materializeView,
  sum,
  top,
  type Database,
  type LeaseStore,
  type MaterializedView,
} from 'tidemark'

export interface City {
  readonly id: string
  readonly country: string
  readonly population: number
  /** A city that is given up. */
  readonly deleted?: boolean
}

const fold = {
  cities: count<City>(),
  population: sum(({ population }: City) => population),
  largest: top(
    3,
    ({ population }: City) => population,
    ({ id }) => id,
  ),
}

/** Keeps one document for each country, whatever happens to its cities and to the workers. */
export function populationView(world: Database, leases: LeaseStore): MaterializedView<typeof fold> {
  return materializeView({
    source: world.collection<City>('cities'),
    target: { database: world, id: 'population' },
    leases,
    by: ({ country, deleted }) => (deleted === true ? undefined : country),
    fold,
    // Cities are marked, not deleted.
    deletes: 'ignore',
  })
}
