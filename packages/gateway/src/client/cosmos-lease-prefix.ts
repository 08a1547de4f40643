import { UnsupportedServerError } from '@tidemark/contracts'
import type { CosmosConnection } from './cosmos-connection.ts'
import { RemoteContainer, type ContainerName } from './remote-container.ts'
import { jsonOf } from './wire-answer.ts'

/**
 * What the ids of lease documents begin with at Azure's V3 processor, for the option `leaseIdPrefix` of
 * `DocumentLeaseStore`: its estimator, and with it KEDA's scaler for Cosmos DB, look for leases by it.
 *
 * It is made of the processor's name, the host of the *monitored* account's endpoint, and the `_rid`s of the monitored
 * database and container.
 */
export async function readCosmosLeasePrefix(
  connection: CosmosConnection,
  monitored: ContainerName & {
    readonly processorName: string
    readonly signal?: AbortSignal | undefined
  },
): Promise<string> {
  const { database, container, processorName, signal } = monitored
  const { rid } = await new RemoteContainer(connection, { database, container }).facts(signal)
  const answer = await connection.send({
    method: 'GET',
    path: ['dbs', database],
    subject: { resource: 'database', id: database, effect: 'none' },
    signal,
  })
  const { _rid } = jsonOf(answer)
  if (typeof _rid !== 'string') throw new UnsupportedServerError(`database ${database} has no _rid`)
  const { hostname } = new URL(connection.endpoint)
  return `${processorName}${hostname}_${_rid}_${rid}..`
}
