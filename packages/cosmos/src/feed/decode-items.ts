import {
  UnsupportedServerError,
  lsn,
  type Change,
  type DocumentBody,
  type FeedMode,
  type Stored,
  type VersionChange,
} from '@tidemark/contracts'
import {
  extractPartitionKey,
  partitionKeyOf,
  partitionKeyPathSegments,
  isJsonRecord,
  type JsonRecord,
  storedOf,
} from '@tidemark/contracts/internal'
import type { ContainerFacts } from '../container-facts.ts'

/**
 * Makes changes of the items of a feed page as the service has them.
 *
 * @throws ERR_SERVER_UNSUPPORTED for an item without an LSN
 */
export function changesOfItems<T extends DocumentBody>(
  items: readonly unknown[],
  mode: FeedMode,
  facts: ContainerFacts,
): readonly Change<T>[] {
  const paths = facts.partitionKey.paths.map(partitionKeyPathSegments)
  return items.map((item) =>
    mode === 'allVersions' ? versionOfItem<T>(item, paths) : documentOfItem<T>(item, paths, facts),
  )
}

/** The LSN of an item, of whichever mode; undefined when it does not say one. */
export function itemLsn(item: unknown): number | undefined {
  if (!isJsonRecord(item)) return undefined
  const { _lsn, metadata } = item
  const at = _lsn ?? (isJsonRecord(metadata) ? metadata['lsn'] : undefined)
  return typeof at === 'number' && Number.isSafeInteger(at) ? at : undefined
}

function documentOfItem<T extends DocumentBody>(
  item: unknown,
  paths: readonly (readonly string[])[],
  { defaultTtl }: ContainerFacts,
): Change<T> {
  const at = itemLsn(item)
  if (at === undefined || !isJsonRecord(item)) throw unreadable()
  const document = storedOf<T>(item)
  const known = {
    kind: 'document',
    id: document.id,
    partitionKey: partitionKeyOf(extractPartitionKey(document, paths)),
    lsn: lsn(at),
    committedAtMs: document._ts * 1000,
    document,
  } as const
  const expiresAtMs = expiryOf(item, defaultTtl)
  return expiresAtMs === undefined ? known : { ...known, expiresAtMs }
}

/** When an item will expire by the container's time to live, epoch ms (TTL-3). */
function expiryOf(
  { ttl, _ts: ts }: JsonRecord,
  defaultTtl: number | undefined,
): number | undefined {
  if (defaultTtl === undefined || typeof ts !== 'number') return undefined
  const seconds = typeof ttl === 'number' ? ttl : defaultTtl
  return seconds > 0 ? (ts + seconds) * 1000 : undefined
}

function versionOfItem<T extends DocumentBody>(
  item: unknown,
  paths: readonly (readonly string[])[],
): VersionChange<T> {
  const metadata = isJsonRecord(item) ? item['metadata'] : undefined
  if (!isJsonRecord(item) || !isJsonRecord(metadata)) throw unreadable()
  const { lsn: at, crts, operationType, id: deletedId, partitionKey: deletedKey } = metadata
  const current = imageOf<T>(item['current'])
  const previous = imageOf<T>(item['previous'])
  const image = current ?? previous
  const id = image?.id ?? deletedId
  if (typeof at !== 'number' || typeof crts !== 'number' || typeof id !== 'string') {
    throw unreadable()
  }
  if (operationType !== 'create' && operationType !== 'replace' && operationType !== 'delete') {
    throw unreadable()
  }
  // Of a delete without a previous image the metadata has the key.
  const named = isJsonRecord(deletedKey) ? deletedKey : {}
  const key = image
    ? extractPartitionKey(image, paths)
    : extractPartitionKey(named, pathsOfNames(named, paths))
  return {
    kind: 'version',
    id,
    partitionKey: partitionKeyOf(key),
    lsn: lsn(at),
    operationType,
    crts: crts * 1000,
    timeToLiveExpired: metadata['timeToLiveExpired'] === true,
    ...(current !== undefined && { current }),
    ...(previous !== undefined && { previous }),
  }
}

/** Where the values of a key are that is named, not part of a document: the service does not say how it names nested paths. */
function pathsOfNames(
  named: JsonRecord,
  paths: readonly (readonly string[])[],
): readonly (readonly string[])[] {
  return paths.map((path) => {
    const forms = [path, [path.join('/')], path.slice(-1)]
    return forms.find(([name = '']) => Object.hasOwn(named, name)) ?? path
  })
}

/** An image that is there: of a delete, `current` is an empty object. */
function imageOf<T extends DocumentBody>(value: unknown): Stored<T> | undefined {
  return isJsonRecord(value) && typeof value['id'] === 'string' ? storedOf<T>(value) : undefined
}

function unreadable(): UnsupportedServerError {
  return new UnsupportedServerError('the server answers items of the feed that cannot be read')
}
