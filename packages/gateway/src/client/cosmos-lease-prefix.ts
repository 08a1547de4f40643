import {
  checkOptions,
  InvalidOptionError,
  option,
  requiredOption,
  UnsupportedServerError,
} from '@tidemark/contracts'
import type { CosmosConnection } from './cosmos-connection.ts'
import { containerNameRules, RemoteContainer, type ContainerName } from './remote-container.ts'
import { jsonOf } from './wire-answer.ts'

/** Of `leaseIdPrefix`. */
const MAX_PREFIX_CHARS = 100

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
  const hostname = hostOf(monitored.endpoint ?? connection.endpoint)
  const { rid } = await new RemoteContainer(connection, { database, container }).facts(signal)
  const answer = await connection.send({
    method: 'GET',
    path: ['dbs', database],
    subject: { resource: 'database', id: database, effect: 'none' },
    signal,
  })
  const { _rid } = jsonOf(answer)
  if (typeof _rid !== 'string') throw new UnsupportedServerError(`database ${database} has no _rid`)
  return checkedPrefix(processorName, `${hostname}_${_rid}_${rid}..`)
}

/** As the readers of the leases take it from the endpoint that they are given: without port and path. */
function hostOf(endpoint: string): string {
  const hostname = URL.parse(endpoint)?.hostname
  if (hostname) return hostname
  throw new InvalidOptionError(
    `endpoint must be the URL of an account, got ${JSON.stringify(endpoint)}`,
  )
}

/** As `DocumentLeaseStore` takes it; said here in terms of what a user chose. */
function checkedPrefix(processorName: string, rest: string): string {
  const room = MAX_PREFIX_CHARS - rest.length
  if (processorName.length > room || /[/\\?#\s]/.test(processorName)) {
    throw new InvalidOptionError(
      `processorName must be at most ${room} characters, none of / \\ ? # or a space, for ids of leases to have ` +
        `room for it before ${JSON.stringify(rest)}; got ${JSON.stringify(processorName)}`,
    )
  }
  return `${processorName}${rest}`
}
