import { type PartitionKeyDefinition, BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import type { CollectionRecord, CollectionSettings } from '@tidemark/store'
import { uniqueKeysOf } from '../collections/unique-key-policy.ts'
import { completeIndexingPolicy, indexingModeOf } from './indexing-policy.ts'

/** A container as a client defines it, checked as far as the store does not do it. */
export interface ContainerDefinition {
  readonly id: string
  readonly partitionKey: PartitionKeyDefinition
  readonly settings: CollectionSettings
  readonly uniqueKeys: readonly (readonly string[])[]
  /** What is answered: the client's own properties, completed. */
  readonly echo: JsonRecord
}

/** Of the service's own making: not kept from what a client sends back. */
const SYSTEM_PROPERTIES = new Set([
  '_rid',
  '_self',
  '_etag',
  '_ts',
  '_docs',
  '_sprocs',
  '_triggers',
  '_udfs',
  '_conflicts',
  'statistics',
])
/** @throws ERR_BAD_REQUEST naming what is missing or wrong */
export function parseContainer(body: JsonRecord): ContainerDefinition {
  const { id, defaultTtl, indexingPolicy, changeFeedPolicy } = body
  if (typeof id !== 'string') {
    throw new BadRequestError('a container needs an "id" that is a string')
  }
  const { option, echo: partitionKeyEcho } = parsePartitionKey(body['partitionKey'])
  const policy = completeIndexingPolicy(indexingPolicy)
  checkUniqueKeys(body['uniqueKeyPolicy'])
  const own = Object.entries(body).filter(([name]) => !SYSTEM_PROPERTIES.has(name))
  return {
    id,
    partitionKey: option,
    settings: {
      defaultTtl: parseDefaultTtl(defaultTtl),
      indexingMode: indexingModeOf(policy),
      allVersions: parseChangeFeedPolicy(changeFeedPolicy),
    },
    uniqueKeys: uniqueKeysOf(body),
    echo: {
      conflictResolutionPolicy: {
        mode: 'LastWriterWins',
        conflictResolutionPath: '/_ts',
        conflictResolutionProcedure: '',
      },
      geospatialConfig: { type: 'Geography' },
      ...Object.fromEntries(own),
      id,
      partitionKey: partitionKeyEcho,
      indexingPolicy: policy,
    },
  }
}

/** The answer's properties that the store knows better than what was kept: they may be changed in process, too. */
export function definedByStore({ id, definition }: CollectionRecord): JsonRecord {
  const { defaultTtl, allVersions } = definition
  return {
    id,
    ...(defaultTtl !== null && { defaultTtl }),
    ...(allVersions !== null && {
      changeFeedPolicy: { retentionDuration: Math.ceil(allVersions.retentionSeconds / 60) },
    }),
  }
}

/** What is answered for a collection that was made in process. */
export function inferredEcho({ id, definition }: CollectionRecord): JsonRecord {
  const { partitionKey, indexingMode, uniqueKeys } = definition
  const uniqueKeyPolicy = uniqueKeys && { uniqueKeys: uniqueKeys.map((paths) => ({ paths })) }
  return parseContainer({
    id,
    partitionKey,
    indexingPolicy: { indexingMode },
    ...(uniqueKeyPolicy && { uniqueKeyPolicy }),
  }).echo
}

/** Whether two definitions name the same partition key, however much of the defaults they say. */
export function samePartitionKey(a: JsonRecord, b: JsonRecord): boolean {
  return partitionKeyText(a) === partitionKeyText(b)
}

function partitionKeyText({ partitionKey }: JsonRecord): string {
  if (!isJsonRecord(partitionKey)) return ''
  const { paths, version = 1, kind = 'Hash' } = partitionKey
  return JSON.stringify([paths, version, kind])
}

function parsePartitionKey(value: unknown): {
  readonly option: PartitionKeyDefinition
  readonly echo: JsonRecord
} {
  if (!isJsonRecord(value)) {
    throw new BadRequestError('a container needs a "partitionKey" with "paths"')
  }
  const { paths, kind, version } = value
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string')) {
    throw new BadRequestError('partitionKey.paths must be a list of paths')
  }
  if (version !== undefined && version !== 1 && version !== 2) {
    throw new BadRequestError(`partitionKey.version must be 1 or 2, got ${JSON.stringify(version)}`)
  }
  const hashKind = kind ?? (paths.length > 1 ? 'MultiHash' : 'Hash')
  if (hashKind !== 'Hash' && hashKind !== 'MultiHash') {
    throw new BadRequestError(
      `partitionKey.kind must be "Hash" or "MultiHash", got ${JSON.stringify(kind)}`,
    )
  }
  if (hashKind === 'Hash' && paths.length > 1) {
    throw new BadRequestError('partitionKey.kind must be "MultiHash" for more than one path')
  }
  // Absent means 1 on the wire; a hierarchical key is hashed by version 2 whatever is said.
  const hashVersion = hashKind === 'MultiHash' ? 2 : (version ?? 1)
  return {
    option: { paths, version: hashVersion, kind: hashKind },
    echo: { ...value, kind: hashKind },
  }
}

function checkUniqueKeys(policy: unknown): void {
  if (policy === undefined) return
  const keys = isJsonRecord(policy) ? (policy['uniqueKeys'] ?? []) : undefined
  const isPath = (path: unknown): boolean => typeof path === 'string' && path.startsWith('/')
  const isKey = (key: unknown): boolean => {
    const paths: unknown = isJsonRecord(key) ? key['paths'] : undefined
    return Array.isArray(paths) && paths.length > 0 && paths.every(isPath)
  }
  if (Array.isArray(keys) && keys.every(isKey)) return
  throw new BadRequestError('uniqueKeyPolicy.uniqueKeys must be a list of objects with "paths"')
}

function parseDefaultTtl(value: unknown): number | null {
  if (value === undefined) return null
  if (typeof value === 'number' && Number.isInteger(value)) return value
  throw new BadRequestError(
    `defaultTtl must be -1 or a positive whole number of seconds, got ${JSON.stringify(value)}`,
  )
}

function parseChangeFeedPolicy(value: unknown): CollectionSettings['allVersions'] {
  if (value === undefined || value === null) return null
  const minutes = isJsonRecord(value) ? (value['retentionDuration'] ?? 0) : value
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 0) {
    throw new BadRequestError(
      'changeFeedPolicy.retentionDuration must be a whole number of minutes from 0 on',
    )
  }
  // A delete is answered with the version before it, so that they are kept.
  return minutes === 0 ? null : { retentionSeconds: minutes * 60, previousImages: true }
}
