import { BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'

const ETAG_PATH = '/"_etag"/?'
const ROOT_PATHS: ReadonlySet<unknown> = new Set(['/*', '/'])
/** What a spatial index may be of. */
export const SHAPES: readonly unknown[] = ['Point', 'LineString', 'Polygon', 'MultiPolygon']
const MODES = ['consistent', 'lazy', 'none'] as const

/**
 * An indexing policy with the service's defaults. Of it only `indexingMode` has a meaning here; the rest is kept for
 * the client.
 *
 * @throws ERR_BAD_REQUEST
 */
export function completeIndexingPolicy(value: unknown): JsonRecord {
  if (value !== undefined && !isJsonRecord(value)) {
    throw new BadRequestError('indexingPolicy must be an object')
  }
  const given = value ?? {}
  const indexingMode = parseMode(given['indexingMode'])
  const excluded = paths('excludedPaths', given['excludedPaths'])
  const excludesRoot = excluded.some(({ path }) => ROOT_PATHS.has(path))
  const included =
    given['includedPaths'] === undefined && !excludesRoot
      ? [{ path: '/*' }]
      : paths('includedPaths', given['includedPaths'])
  const includesRoot = included.some(({ path }) => ROOT_PATHS.has(path))
  if (indexingMode !== 'none' && !excludesRoot && !includesRoot) {
    throw new BadRequestError('indexingPolicy must include or exclude the path "/*"')
  }
  const hasEtag = excluded.some(({ path }) => path === ETAG_PATH)
  return {
    ...given,
    indexingMode,
    automatic: given['automatic'] ?? indexingMode !== 'none',
    includedPaths: included.map(withoutIndexes),
    ...spatialIndexes(given['spatialIndexes']),
    excludedPaths: hasEtag ? excluded : [...excluded, { path: ETAG_PATH }],
  }
}

/** The mode of a completed policy. */
export function indexingModeOf(policy: JsonRecord): (typeof MODES)[number] {
  return parseMode(policy['indexingMode'])
}

function parseMode(value: unknown): (typeof MODES)[number] {
  if (value === undefined) return 'consistent'
  const mode = MODES.find((name) => typeof value === 'string' && name === value.toLowerCase())
  if (mode !== undefined) return mode
  throw new BadRequestError(
    `indexingPolicy.indexingMode must be consistent, lazy or none, got ${JSON.stringify(value)}`,
  )
}

function paths(name: string, value: unknown): readonly JsonRecord[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every(isPath)) return value
  throw new BadRequestError(`indexingPolicy.${name} must be a list of objects with a "path"`)
}

function isPath(value: unknown): value is JsonRecord {
  return isJsonRecord(value) && typeof value['path'] === 'string' && value['path'].startsWith('/')
}

/** The service takes the kinds of indexes of old clients, and drops them. */
function withoutIndexes({ indexes: _, ...path }: JsonRecord): JsonRecord {
  return path
}

/** Every spatial index is of all shapes, whichever of them are given. */
function spatialIndexes(value: unknown): JsonRecord {
  if (!Array.isArray(value)) return {}
  return {
    spatialIndexes: value.map((index: unknown) =>
      isJsonRecord(index) ? { ...index, types: SHAPES } : index,
    ),
  }
}
