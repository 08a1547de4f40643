import type { City } from './city.ts'

/** What the writer does next. Everything but an insert concerns a city of the collection. */
export type CityChange =
  | { readonly kind: 'grow'; readonly city: City }
  /** Its copy moves to another partition key value of the target. */
  | { readonly kind: 'rename'; readonly city: City }
  | { readonly kind: 'found'; readonly city: City }

/**
 * A fixed sequence of changes, the same in every run: of each ten, seven change a population, two rename
 * a city and one founds a new one. Cities are picked all over the collection, some of them again and again.
 */
export class CityChanges {
  readonly #cities: City[]
  #step = 0

  constructor(cities: readonly City[]) {
    this.#cities = [...cities]
  }

  next(): CityChange {
    this.#step += 1
    const step = this.#step
    const count = this.#cities.length
    // A stride that shares no factor with most counts visits cities all over; every fifth step comes
    // back to one of a hundred, so that these are changed many times.
    const index = step % 5 === 0 ? step % Math.min(100, count) : (step * 7919) % count
    const old = this.#cities[index]
    if (old === undefined) throw new Error('there are no cities to change')
    if (step % 10 === 9) {
      const city = newCity(step, old)
      this.#cities.push(city)
      return { kind: 'found', city }
    }
    const revision = (old.revision ?? 0) + 1
    const renamed = step % 10 < 2
    const name = renamed ? `${old.name.replace(/ \(\d+\)$/, '')} (${revision})` : old.name
    const city = { ...old, name, population: old.population + 1, revision }
    this.#cities[index] = city
    return { kind: renamed ? 'rename' : 'grow', city }
  }
}

function newCity(step: number, neighbour: City): City {
  return {
    ...neighbour,
    id: `new-${step}`,
    name: `New ${neighbour.name}`,
    population: 1_000,
    revision: 0,
  }
}
