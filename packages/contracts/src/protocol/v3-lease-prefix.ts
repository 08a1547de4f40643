import { InvalidOptionError } from '../errors/invalid-option-error.ts'

/** Of `leaseIdPrefix`. */
const MAX_PREFIX_CHARS = 100

/** A monitored container, as the ids of a V3 processor's leases name it. */
export interface V3Monitored {
  /** URL of the container's account, as the readers of the leases have it. */
  readonly endpoint: string
  /** `_rid` of the container. */
  readonly containerRid: string
}

/**
 * What ids of lease documents begin with at Azure's V3 processor: its name, the account's host, the `_rid`s of database and
 * container, and two dots.
 *
 * @throws ERR_INVALID_OPTION when it is no prefix that `DocumentLeaseStore` takes
 */
export function v3LeasePrefix(processorName: string, monitored: V3Monitored): string {
  const rest = `${v3MonitoredName(monitored)}..`
  const room = MAX_PREFIX_CHARS - rest.length
  if (processorName.length > room || /[/\\?#\s]/.test(processorName)) {
    throw new InvalidOptionError(
      `processorName must be at most ${room} characters, none of / \\ ? # or a space, for ids of leases to have ` +
        `room for it before ${JSON.stringify(rest)}; got ${JSON.stringify(processorName)}`,
    )
  }
  return `${processorName}${rest}`
}

/**
 * `host_databaseRid_containerRid`.
 *
 * @throws ERR_INVALID_OPTION when the endpoint is no URL
 */
export function v3MonitoredName({ endpoint, containerRid }: V3Monitored): string {
  return `${accountHost(endpoint)}_${databaseRid(containerRid)}_${containerRid}`
}

/**
 * Without port and path.
 *
 * @throws ERR_INVALID_OPTION when the endpoint is no URL
 */
export function accountHost(endpoint: string): string {
  const hostname = URL.parse(endpoint)?.hostname
  if (hostname) return hostname
  throw new InvalidOptionError(
    `endpoint must be the URL of an account, got ${JSON.stringify(endpoint)}`,
  )
}

/** The first four bytes of each `_rid` below a database are the database's. Ids have no slash: `_rid`s have a dash there. */
function databaseRid(containerRid: string): string {
  const bytes = Buffer.from(containerRid.replaceAll('-', '/'), 'base64')
  return bytes.subarray(0, 4).toString('base64').replaceAll('/', '-')
}
