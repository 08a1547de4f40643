import { checkOptions, option, requiredOption, v3LeasePrefix } from '@tidemark/contracts/internal'
import type { CosmosConnection } from './cosmos-connection.ts'
import { containerNameRules, RemoteContainer, type ContainerName } from './remote-container.ts'

export interface CosmosLeasePrefixOptions extends ContainerName {
  /** As in the scaler's metadata, or as the estimator is given it. */
  readonly processorName: string
  /**
   * URL of the account of the monitored container, as *the reader of the leases* has it: KEDA's operator runs in a namespace of
   * its own, and reaches a service of yours as `http://tidemark.shop.svc:8081`, whatever your workers call it. Both scalers
   * make the prefix of its host name. KEDA's built-in one finds no leases if that name has no dot.
   * @default the connection's
   */
  readonly endpoint?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What the ids of lease documents begin with at Azure's V3 processor, for the option `leaseIdPrefix` of
 * `DocumentLeaseStore`: its estimator and KEDA's scalers for Cosmos DB look for leases by it.
 *
 * It is made of the processor's name, the host of the *monitored* account's endpoint, and the `_rid`s of the monitored
 * database and container.
 *
 * Rejects with ERR_INVALID_OPTION when it is no prefix that `DocumentLeaseStore` takes: `processorName` is too long or
 * has a character that ids cannot have, or `endpoint` is no URL; ERR_NOT_FOUND.
 */
export async function readCosmosLeasePrefix(
  connection: CosmosConnection,
  monitored: CosmosLeasePrefixOptions,
): Promise<string> {
  checkOptions(monitored, {
    ...containerNameRules,
    processorName: requiredOption(option.text),
    endpoint: option.text,
    signal: option.signal,
  })
  const { database, container, processorName, signal } = monitored
  const { rid: containerRid } = await new RemoteContainer(connection, {
    database,
    container,
  }).facts(signal)
  const { endpoint = connection.endpoint } = monitored
  return v3LeasePrefix(processorName, { endpoint, containerRid })
}
