import {
  InvalidPartitionKeyError,
  type PartitionKeyComponent,
  BadRequestError,
} from '@tidemark/contracts'
import { parsePartitionKeyText } from '@tidemark/contracts/internal'
import type { OpenCollection } from '@tidemark/store/engine'
import { HEADER } from '../protocol/header-names.ts'
import { hasSystemKey } from '../resources/system-key.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'

/**
 * The partition key value of a request, one component for each path. An empty array stands for "no value": so do
 * clients write it for containers that were made without a partition key. There the header may be missing, too.
 *
 * @throws ERR_BAD_REQUEST when the header is missing, ERR_INVALID_PARTITION_KEY
 */
export function requiredPartitionKey(
  request: GatewayRequest,
  open: OpenCollection,
): readonly PartitionKeyComponent[] {
  const text = request.header(HEADER.partitionKey)
  if (text === undefined) {
    if (hasSystemKey(open.record)) return fullPartitionKey('[]', open)
    throw new BadRequestError(
      `header ${HEADER.partitionKey} is missing; documents are addressed by partition key value and id`,
    )
  }
  return fullPartitionKey(text, open)
}

/**
 * A full partition key value of its text on the wire.
 *
 * @throws ERR_INVALID_PARTITION_KEY
 */
export function fullPartitionKey(
  text: string,
  { record }: OpenCollection,
): readonly PartitionKeyComponent[] {
  const { paths } = record.definition.partitionKey
  const components = parsePartitionKeyText(text)
  if (components.length === 0) return paths.map(() => undefined)
  if (components.length === paths.length) return components
  throw new InvalidPartitionKeyError(
    `the partition key value has ${components.length} components, the container's has ${paths.length}`,
  )
}

/** As `fullPartitionKey`, or the first components of a hierarchical value; undefined without a header. */
export function partitionKeyPrefix(
  request: GatewayRequest,
  open: OpenCollection,
): readonly PartitionKeyComponent[] | undefined {
  const text = request.header(HEADER.partitionKey)
  if (text === undefined) return undefined
  const components = parsePartitionKeyText(text)
  const count = open.record.definition.partitionKey.paths.length
  const isPrefix = components.length > 0 && components.length < count
  return isPrefix ? components : fullPartitionKey(text, open)
}
