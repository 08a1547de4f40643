import type { DocumentBody } from '../documents/document.ts'
import { InvalidDocumentError } from '../errors/invalid-document-error.ts'
import { effectivePartitionKey } from '../partition-key/effective-partition-key.ts'
import {
  keyComponents,
  parsePartitionKeyText,
  partitionKeyDefinition,
  partitionKeyOf,
  partitionKeyText,
} from '../partition-key/partition-key.ts'
import type { Change } from './change.ts'

/** The canonical text of a change's key. JSON of the change itself tells no None from null. */
export function changeKeyText({ partitionKey }: Change): string {
  return partitionKeyText(keyComponents(partitionKey))
}

/** The effective partition key of a change: tells in which ranges it is. `version`: of the collection's hash. */
export function changeEpk({ partitionKey }: Change, version: 1 | 2): string {
  const components = keyComponents(partitionKey)
  const paths = components.map((_, index) => `/${index}`)
  return effectivePartitionKey(components, partitionKeyDefinition(paths, version))
}

/** A change as it is stored: JSON keeps no None in a key, so its text stands there instead. */
export type StorableChange = Omit<Change, 'partitionKey'> & { readonly partitionKeyText: string }

export function storableChange(change: Change): StorableChange {
  const { partitionKey: _, ...rest } = change
  return { ...rest, partitionKeyText: changeKeyText(change) }
}

/**
 * The change that a stored value stands for.
 *
 * @throws ERR_INVALID_DOCUMENT when it is no change
 */
export function parseChange<T extends DocumentBody>(value: unknown): Change<T> {
  const stored: { readonly partitionKeyText?: unknown } = isObject(value) ? value : {}
  const { partitionKeyText: key, ...rest } = stored
  if (typeof key === 'string') {
    const change: unknown = { ...rest, partitionKey: partitionKeyOf(parsePartitionKeyText(key)) }
    if (isChange<T>(change)) return change
  }
  throw new InvalidDocumentError('a dead letter holds a change that this release cannot read')
}

function isChange<T extends DocumentBody>(value: unknown): value is Change<T> {
  if (!isObject(value) || !Number.isSafeInteger(property(value, 'lsn'))) return false
  if (typeof property(value, 'id') !== 'string') return false
  switch (property(value, 'kind')) {
    case 'document':
      return isObject(property(value, 'document'))
    case 'pendingDelete':
      return isObject(property(value, 'lastVersion'))
    case 'version':
      return typeof property(value, 'operationType') === 'string'
    default:
      return false
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function property(value: object, name: string): unknown {
  return Reflect.get(value, name)
}
