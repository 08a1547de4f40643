import { accountHost, v3MonitoredName } from '@tidemark/contracts/internal'

/** What makes the ids of a V3 processor's documents. */
export interface V3ProcessorName {
  /** `processorName` of .NET, `leasePrefix` of Java. */
  readonly processorName: string
  /** URL of the monitored container's account, as the processor's client has it. */
  readonly endpoint: string
  /** Names and `_rid` of the monitored container. */
  readonly database: string
  readonly container: string
  readonly containerRid: string
}

/**
 * Who reads leases:
 *
 * - `dotnet`: the .NET SDK, all forms.
 * - `java`: `handleLatestVersionChanges` and `handleAllVersionsAndDeletesChanges` of the Java SDK, leases of key intervals.
 * - `javaHandleChanges`: its older `handleChanges`, leases of pkranges.
 */
export type V3Reader = 'dotnet' | 'java' | 'javaHandleChanges'

/**
 * What the ids of a processor's documents begin with: `.info` and `.lock` follow, or `..` and the token of a lease.
 *
 * Source: `GetLeasePrefix` of azure-cosmos-dotnet-v3, `getLeasePrefix` of the two `ChangeFeedProcessorImpl` of
 * azure-cosmos for Java. The older one of Java has the names of database and container in place of their `_rid`s.
 *
 * @throws ERR_INVALID_OPTION when the endpoint is no URL
 */
export function v3Prefix(name: V3ProcessorName, reader: V3Reader): string {
  const { processorName, endpoint, database, container, containerRid } = name
  const monitored =
    reader === 'javaHandleChanges'
      ? `${accountHost(endpoint)}_${database}_${container}`
      : v3MonitoredName({ endpoint, containerRid })
  return `${processorName}${monitored}`
}
