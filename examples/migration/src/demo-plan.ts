/** What all processes of the demo agree on; handed to them as one JSON argument. */
export interface DemoPlan {
  /** Of the store: a folder, or a URL of PostgreSQL. */
  readonly where: string
  /** Only the first so many. Undefined = all. */
  readonly cities: number | undefined
  /** Undefined = leases are documents in the same store. */
  readonly redisUrl: string | undefined
  readonly writesPerSecond: number
  /** Documents per second of one worker; undefined = as fast as it can. */
  readonly pacePerSecond: number | undefined
}

export const DATABASE = 'world'
/** Partitioned by country. */
export const SOURCE = 'cities'
/** Partitioned by name. */
export const TARGET = 'citiesByName'
export const JOB = 'cities-by-name'
export const SOURCE_RANGES = 8
export const TARGET_RANGES = 8
/** Short, so that a killed worker's ranges go on while one watches. The default is 8 s. */
export const LEASE_EXPIRATION_MS = 3_000
export const LEASE_RENEW_MS = 1_000

/** The plan that a child process was started with. */
export function planFromArgument(argument: string | undefined): DemoPlan {
  if (argument === undefined) throw new Error('started without the demo plan')
  return JSON.parse(argument) as DemoPlan
}
