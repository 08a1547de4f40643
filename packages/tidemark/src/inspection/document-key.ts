import {
  type DocumentBody,
  type PartitionKeyComponent,
  type PartitionKeyDefinition,
} from '@tidemark/contracts'
import { extractPartitionKey, partitionKeyPathSegments } from '@tidemark/contracts/internal'

/** Reads the partition key value of a document, one entry a path. */
export function keyReader({
  paths,
}: Pick<PartitionKeyDefinition, 'paths'>): (
  document: DocumentBody,
) => readonly PartitionKeyComponent[] {
  const segments = paths.map(partitionKeyPathSegments)
  return (document) => extractPartitionKey(document, segments)
}
