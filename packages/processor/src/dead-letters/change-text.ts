import {
  InvalidDocumentError,
  parsePartitionKeyText,
  partitionKeyOf,
  partitionKeyText,
  type Change,
  type DocumentBody,
  type PartitionKeyComponent,
} from '@tidemark/contracts'

/** The components of a change's key, one a path. */
export function keyComponents({ partitionKey }: Change): readonly PartitionKeyComponent[] {
  return isComponentList(partitionKey) ? partitionKey : [partitionKey]
}

/** The canonical text of a change's key. JSON of the change itself tells no None from null. */
export function keyText(change: Change): string {
  return partitionKeyText(keyComponents(change))
}

/** A change as it is stored: JSON keeps no None in a key, so its text stands there instead. */
export type StorableChange = Omit<Change, 'partitionKey'> & { readonly partitionKeyText: string }

export function storableChange(change: Change): StorableChange {
  const { partitionKey: _, ...rest } = change
  return { ...rest, partitionKeyText: keyText(change) }
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

/**
 * Cuts a text so that each part, written as a JSON string, has at most `partBytes` bytes. JSON text has no
 * character that takes more than 3 bytes a unit when it is written as a string once more.
 */
export function textParts(text: string, partBytes: number): readonly string[] {
  const units = Math.max(2, Math.floor(partBytes / 3))
  const parts: string[] = []
  for (let from = 0; from < text.length;) {
    const end = from + units
    const isPairCut = end < text.length && isHighSurrogate(text.charCodeAt(end - 1))
    const to = isPairCut ? end - 1 : end
    parts.push(text.slice(from, to))
    from = to
  }
  return parts
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

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isComponentList(value: Change['partitionKey']): value is readonly PartitionKeyComponent[] {
  return Array.isArray(value)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function property(value: object, name: string): unknown {
  return Reflect.get(value, name)
}
