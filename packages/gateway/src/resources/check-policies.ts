import { BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import { SHAPES } from './indexing-policy.ts'
import { isIndexedPath, isPropertyPath } from './property-path.ts'

/**
 * Checks what of a definition has no meaning here, as the service does, so that what works here works there too:
 * paths, kinds of indexes, and computed properties as far as they can be judged without being read.
 *
 * @throws ERR_BAD_REQUEST naming the path or property that is wrong
 */
export function checkPolicies(definition: JsonRecord): void {
  const { indexingPolicy, computedProperties } = definition
  if (isJsonRecord(indexingPolicy)) {
    for (const name of ['includedPaths', 'excludedPaths']) {
      for (const { path } of records(indexingPolicy, name)) {
        if (!isIndexedPath(path)) refusePath(name, path, 'must end with /? or /*')
      }
    }
    checkCompositeIndexes(indexingPolicy['compositeIndexes'])
    checkSpatialIndexes(indexingPolicy)
    checkSearchIndexes(definition, indexingPolicy)
  }
  if (computedProperties !== undefined) checkComputedProperties(definition)
}

/** @throws ERR_BAD_REQUEST */
export function checkKeyPaths(name: string, paths: readonly unknown[]): void {
  for (const path of paths) {
    if (!isPropertyPath(path)) refusePath(name, path, PROPERTY_FORM)
  }
}

const PROPERTY_FORM = 'must look like /a or /a/b, without a wildcard'
const ORDERS: readonly unknown[] = [undefined, 'ascending', 'descending']

function checkCompositeIndexes(value: unknown): void {
  for (const index of listOf('compositeIndexes', value)) {
    if (!Array.isArray(index) || index.length < 2) {
      refuse('each of compositeIndexes must be a list of two paths or more')
    }
    for (const { path, order } of index.map(record)) {
      if (!isPropertyPath(path)) refusePath('compositeIndexes', path, PROPERTY_FORM)
      if (ORDERS.includes(order)) continue
      refuse(`compositeIndexes has the order ${shown(order)}; it must be ascending or descending`)
    }
  }
}

function checkSpatialIndexes(policy: JsonRecord): void {
  for (const { path, types } of records(policy, 'spatialIndexes')) {
    if (!isIndexedPath(path)) refusePath('spatialIndexes', path, 'must end with /? or /*')
    const areKnown = Array.isArray(types) && types.every((type) => SHAPES.includes(type))
    if (areKnown && types.length > 0) continue
    refuse(`spatialIndexes needs "types" for ${shown(path)}, of ${SHAPES.join(', ')}`)
  }
}

const VECTOR_TYPES: readonly unknown[] = ['flat', 'quantizedFlat', 'diskANN']

/** Vector and full-text indexes stand on a policy of the container that has the same path. */
function checkSearchIndexes(definition: JsonRecord, policy: JsonRecord): void {
  const embeddings = records(record(definition['vectorEmbeddingPolicy']), 'vectorEmbeddings')
  for (const { path, dimensions } of embeddings) {
    if (!isPropertyPath(path)) refusePath('vectorEmbeddings', path, PROPERTY_FORM)
    if (Number.isInteger(dimensions) && Number(dimensions) > 0) continue
    refuse(`vectorEmbeddings needs "dimensions" above 0 for ${shown(path)}`)
  }
  const vectorPaths = new Set(embeddings.map(({ path }) => path))
  for (const { path, type } of records(policy, 'vectorIndexes')) {
    if (!VECTOR_TYPES.includes(type)) {
      refuse(`vectorIndexes has the type ${shown(type)}; it must be ${VECTOR_TYPES.join(', ')}`)
    }
    if (vectorPaths.has(path)) continue
    refuse(`vectorIndexes has the path ${shown(path)}, which vectorEmbeddingPolicy has not`)
  }
  const texts = records(record(definition['fullTextPolicy']), 'fullTextPaths')
  const textPaths = new Set(texts.map(({ path }) => path))
  for (const { path } of records(policy, 'fullTextIndexes')) {
    if (textPaths.has(path)) continue
    refuse(`fullTextIndexes has the path ${shown(path)}, which fullTextPolicy has not`)
  }
}

const RESERVED_NAMES: ReadonlySet<unknown> = new Set(['id', '_rid', '_self', '_etag', '_ts'])

function checkComputedProperties(definition: JsonRecord): void {
  const names = new Set<unknown>()
  for (const { name, query } of records(definition, 'computedProperties')) {
    if (!isFilled(name) || !isFilled(query)) {
      refuse('each of computedProperties needs a "name" and a "query"')
    }
    if (RESERVED_NAMES.has(name)) refuse(`computedProperties has the reserved name ${shown(name)}`)
    if (names.has(name)) refuse(`computedProperties has the name ${shown(name)} twice`)
    names.add(name)
  }
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function records(holder: JsonRecord, name: string): readonly JsonRecord[] {
  return listOf(name, holder[name]).map(record)
}

function listOf(name: string, value: unknown): readonly unknown[] {
  const list = value ?? []
  return Array.isArray(list) ? list : refuse(`${name} must be a list`)
}

/** What is no object has no properties, and is refused for what it lacks. */
function record(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}

function refusePath(name: string, path: unknown, form: string): never {
  refuse(
    `${name} has the invalid path ${shown(path)}: it ${form}, ` +
      'and names of other characters than letters, digits and _ stand in quotes, as in /"a-b"',
  )
}

function refuse(what: string): never {
  throw new BadRequestError(what)
}
