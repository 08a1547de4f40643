import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import type { CollectionRecord } from '@tidemark/store'
import { HEADER } from '../protocol/header-names.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'
import { annotationOf } from './container-annotation.ts'

/** The first version of the protocol in which a container must name its partition key. */
const KEY_NEEDED_SINCE = '2018-12-31'
/** What the service gives containers that were made without one. Documents seldom have the property. */
const SYSTEM_KEY = { paths: ['/_partitionKey'], kind: 'Hash', systemKey: true }

/** A container's definition as it came; those of old clients that name no partition key have the system's. */
export function withSystemKey({ header }: GatewayRequest, definition: JsonRecord): JsonRecord {
  const isOld = (header(HEADER.version) ?? KEY_NEEDED_SINCE) < KEY_NEEDED_SINCE
  if (!isOld || definition['partitionKey'] !== undefined) return definition
  return { ...definition, partitionKey: SYSTEM_KEY }
}

/** Whether a container was made without a partition key, so that requests need not name a value. */
export function hasSystemKey(record: CollectionRecord): boolean {
  const { partitionKey } = annotationOf(record).echo
  return isJsonRecord(partitionKey) && partitionKey['systemKey'] === true
}
