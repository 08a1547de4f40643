import { UnsupportedServerError } from '../errors/unsupported-server-error.ts'
import {
  partitionKeyDefinition,
  type PartitionKeyDefinition,
} from '../partition-key/partition-key.ts'
import { isJsonRecord } from './json-record.ts'

/**
 * The partition key of a container, as its definition has it.
 *
 * @throws ERR_SERVER_UNSUPPORTED when there is none
 */
export function containerKey(value: unknown, id: string): PartitionKeyDefinition {
  const paths = isJsonRecord(value) ? value['paths'] : undefined
  if (!isJsonRecord(value) || !Array.isArray(paths)) {
    throw new UnsupportedServerError(`container ${id} has no partition key`)
  }
  return partitionKeyDefinition(paths.map(String), value['version'] === 2 ? 2 : 1)
}
