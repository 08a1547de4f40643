import {
  errorCode,
  feedRangeId,
  type AtomicWrite,
  type Change,
  type Collection,
  type Database,
  type IChangeFeedObserver,
  type ObserverContext,
  type Stored,
} from 'tidemark'

export interface City {
  readonly id: string
  readonly country: string
  readonly population: number
  /** A city that is given up: the feed shows no deletes, so that they are marked. */
  readonly deleted?: boolean
}

/** What one city adds to the view now. Kept because the feed has only its newest version. */
export interface Contribution {
  readonly id: string
  readonly country: string
  readonly population: number
  readonly cities: 0 | 1
  /** Version of the city that this is of: an older or equal one is a replay. */
  readonly lsn: number
}

/** What one range of the source has added to a country, up to an LSN. */
export interface RangePartial {
  readonly population: number
  readonly cities: number
  readonly lsn: number
}

export interface Country {
  /** The country, which is the partition key too. */
  readonly id: string
  readonly population: number
  readonly cities: number
  /** By source range. The totals are their sums. */
  readonly partials: Readonly<Record<string, RangePartial>>
}

/** The collections of the view. They are in one database, so that one commit changes both. */
export interface ViewCollections {
  readonly database: Database
  readonly countries: Collection<Country>
  readonly contributions: Collection<Contribution>
}

export async function openViewCollections(database: Database): Promise<ViewCollections> {
  const countries = await database.createCollectionIfNotExists<Country>({
    id: 'populationByCountry',
    partitionKey: '/id',
  })
  const contributions = await database.createCollectionIfNotExists<Contribution>({
    id: 'populationByCountry-contributions',
    partitionKey: '/id',
  })
  return { database, countries, contributions }
}

/**
 * Keeps the population of each country right over updates, moves, replays, crashes and late workers.
 *
 * One commit holds what each city adds, the countries' new totals, and the fence of the worker. So either
 * all of a batch counts or none of it, and when a batch comes again, each city's LSN says that it has counted.
 */
export class PopulationView implements IChangeFeedObserver<City> {
  readonly #view: ViewCollections

  constructor(view: ViewCollections) {
    this.#view = view
  }

  async processChanges(context: ObserverContext, changes: readonly Change<City>[]): Promise<void> {
    for (;;) {
      context.signal.throwIfAborted()
      const writes = await this.#plan(feedRangeId(context.range), changes)
      if (writes.length === 0) return
      try {
        await this.#view.database.commitAtomically(writes, {
          fence: { job: 'population', range: context.range, epoch: context.fence.epoch },
          signal: context.signal,
        })
        return
      } catch (error) {
        // Another range has just changed one of the same countries: read again.
        if (errorCode(error) !== 'ERR_ATOMIC_WRITE_FAILED') throw error
      }
    }
  }

  async #plan(range: string, changes: readonly Change<City>[]): Promise<readonly AtomicWrite[]> {
    const { countries, contributions } = this.#view
    const counted = new Map<
      string,
      { before: Stored<Contribution> | undefined; now: Contribution }
    >()
    const added = new Map<string, RangePartial>()
    const add = (country: string, change: Omit<RangePartial, 'lsn'>, lsn: number): void => {
      const before = added.get(country) ?? { population: 0, cities: 0, lsn: 0 }
      added.set(country, {
        population: before.population + change.population,
        cities: before.cities + change.cities,
        lsn: Math.max(before.lsn, lsn),
      })
    }

    for (const change of changes) {
      const earlier = counted.get(change.id)
      const before = earlier?.before ?? (await contributions.read(change.id, change.id)).document
      const old = earlier?.now ?? before
      if (old !== undefined && old.lsn >= change.lsn) continue
      const now = contributionOf(change)
      if (old !== undefined && old.cities > 0) {
        add(old.country, { population: -old.population, cities: -old.cities }, change.lsn)
      }
      if (now.cities > 0) add(now.country, now, change.lsn)
      counted.set(change.id, { before, now })
    }
    const writes = [...counted.values()].map(({ now, before }) => put(contributions, now, before))
    for (const [country, partial] of added) {
      const before = (await countries.read(country, country)).document
      writes.push(put(countries, withPartial(country, before, { range, partial }), before))
    }
    return writes
  }
}

function contributionOf(change: Change<City>): Contribution {
  const { id, lsn } = change
  if (change.kind === 'document' && change.document.deleted !== true) {
    const { country, population } = change.document
    return { id, country, population, cities: 1, lsn }
  }
  // Gone, by its mark or because it expired: it counts for nothing, and what is late is still told apart.
  return { id, country: '', population: 0, cities: 0, lsn }
}

function withPartial(
  id: string,
  before: Country | undefined,
  { range, partial: added }: { range: string; partial: RangePartial },
): Country {
  const old = before?.partials[range] ?? { population: 0, cities: 0, lsn: 0 }
  const partials = {
    ...before?.partials,
    [range]: {
      population: old.population + added.population,
      cities: old.cities + added.cities,
      lsn: Math.max(old.lsn, added.lsn),
    },
  }
  const all = Object.values(partials)
  return {
    id,
    population: all.reduce((sum, { population }) => sum + population, 0),
    cities: all.reduce((sum, { cities }) => sum + cities, 0),
    partials,
  }
}

/** Only over the version that was read. */
function put<T extends Contribution | Country>(
  collection: Collection<T>,
  document: T,
  before: Stored<T> | undefined,
): AtomicWrite {
  const conditions = before === undefined ? { ifNoneMatch: '*' } : { ifMatch: before._etag }
  return { collection, operation: { kind: 'put', document, ...conditions } }
}
