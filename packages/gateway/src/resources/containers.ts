import { BadRequestError } from '@tidemark/contracts'
import { type JsonRecord } from '@tidemark/contracts/internal'
import type { CollectionRecord, CollectionSettings } from '@tidemark/store'
import { collectionSelfLink } from '@tidemark/store/engine'
import { assertMeant } from '../collections/collection-directory.ts'
import { uniqueKeysOf } from '../collections/unique-key-policy.ts'
import { jsonAnswer } from '../protocol/answer.ts'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import { isTrue, parseJsonRecord } from '../protocol/request-values.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { answerList } from './answer-list.ts'
import { assertMatch, changeRecord } from './change-record.ts'
import { checkKeyPaths, checkPolicies } from './check-policies.ts'
import { annotationOf, annotationText } from './container-annotation.ts'
import {
  definedByStore,
  parseContainer,
  samePartitionKey,
  type ContainerDefinition,
} from './container-definition.ts'
import { offerOfHeaders, rangesOfOffer } from './offer.ts'
import { collectionNames, databaseName } from './resource-names.ts'
import { withSystemKey } from './system-key.ts'

/** The service's words for a container without a limit of its own, in KiB. */
const QUOTA = 'documentSize=2048;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;'

/** POST /dbs/{db}/colls */
export const createContainer: Operation = async (request, { store, collections }) => {
  const database = databaseName(request.path)
  const body = withSystemKey(request, parseJsonRecord(await request.readBody()))
  const { id, partitionKey, settings, uniqueKeys, echo } = parseContainer(body)
  checkPolicies(body)
  checkKeyPaths('partitionKey', partitionKey.paths)
  checkKeyPaths('uniqueKeyPolicy', uniqueKeys.flat())
  const offer = offerOfHeaders(request)
  const collection = await store.database(database).createCollection({
    id,
    partitionKey,
    ...settings,
    uniqueKeys,
    partitionCount: rangesOfOffer(offer),
    annotation: annotationText({ echo, offer }),
  })
  collections.forget({ database, collection: id })
  const record = await collection.readRecord()
  return jsonAnswer(201, containerBody(record), containerHeaders(request, record))
}

/** GET /dbs/{db}/colls, and POST as a query. */
export const listContainers: Operation = async (request, { store }) => {
  const database = store.database(databaseName(request.path))
  const [{ rid }, records] = [await database.readRecord(), await database.listCollections()]
  return answerList(request, {
    rid,
    name: 'DocumentCollections',
    items: records,
    bodyOf: containerBody,
  })
}

/** GET /dbs/{db}/colls/{coll} */
export const readContainer: Operation = async (request, { collections }) =>
  collections.use(collectionNames(request.path), async ({ collection }) => {
    const record = await collection.readRecord()
    const headers = containerHeaders(request, record)
    if (request.header(HEADER.ifNoneMatch) === record.etag) return { status: 304, headers }
    const identity = { [OWN_HEADER.identity]: collection.identity }
    return jsonAnswer(200, containerBody(record), { ...headers, ...identity })
  })

/** PUT /dbs/{db}/colls/{coll}: takes the whole definition; what is left out is off. */
export const replaceContainer: Operation = async (request, { collections }) => {
  const body = withSystemKey(request, parseJsonRecord(await request.readBody()))
  return collections.use(collectionNames(request.path), async ({ collection }) => {
    const wanted = parseContainer(body)
    checkPolicies(body)
    const record = await changeRecord({
      ifMatch: request.header(HEADER.ifMatch),
      read: () => collection.readRecord(),
      write: (before) =>
        collection.updateSettings(replacedSettings(before, wanted), { ifMatch: before.etag }),
    })
    return jsonAnswer(200, containerBody(record), containerHeaders(request, record))
  })
}

/** @throws ERR_BAD_REQUEST when something would change that is for ever */
function replacedSettings(
  before: CollectionRecord,
  { id, settings, echo }: ContainerDefinition,
): CollectionSettings {
  if (id !== before.id) {
    throw new BadRequestError(`the id of a container cannot be changed, got ${JSON.stringify(id)}`)
  }
  const kept = annotationOf(before)
  if (!samePartitionKey(echo, kept.echo)) {
    throw new BadRequestError('the partition key of a container cannot be changed')
  }
  const { partitionKey, uniqueKeyPolicy } = kept.echo
  if (!sameUniqueKeys(echo, kept.echo)) {
    throw new BadRequestError('the unique keys of a container cannot be changed')
  }
  const annotation = annotationText({
    echo: { ...echo, partitionKey, ...(uniqueKeyPolicy !== undefined && { uniqueKeyPolicy }) },
    offer: kept.offer,
  })
  return { ...settings, annotation }
}

/** A replace may leave them out, or say the same again. */
function sameUniqueKeys(wanted: JsonRecord, kept: JsonRecord): boolean {
  if (wanted['uniqueKeyPolicy'] === undefined) return true
  return JSON.stringify(uniqueKeysOf(wanted)) === JSON.stringify(uniqueKeysOf(kept))
}

/** DELETE /dbs/{db}/colls/{coll} */
export const deleteContainer: Operation = async ({ path, header }, { store, collections }) => {
  const names = collectionNames(path)
  const database = store.database(names.database)
  const ifMatch = header(HEADER.ifMatch)
  if (ifMatch !== undefined || names.rid !== undefined) {
    const record = await database.collection(names.collection).readRecord()
    assertMeant(names, record)
    assertMatch(record, ifMatch)
  }
  await database.deleteCollection(names.collection)
  collections.forget(names)
  return { status: 204, headers: { [HEADER.requestCharge]: chargeText(METADATA_CHARGE) } }
}

function containerBody(record: CollectionRecord): JsonRecord {
  const { defaultTtl, changeFeedPolicy, ...echo } = annotationOf(record).echo
  // Absent while off: only the store's own word counts.
  void [defaultTtl, changeFeedPolicy]
  return {
    ...echo,
    ...definedByStore(record),
    _rid: record.rid,
    _self: collectionSelfLink(record),
    _etag: record.etag,
    _ts: record.ts,
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  }
}

function containerHeaders(
  request: GatewayRequest,
  { etag, rid, definition }: CollectionRecord,
): Readonly<Record<string, string>> {
  return {
    [HEADER.requestCharge]: chargeText(METADATA_CHARGE),
    [HEADER.etag]: etag,
    [HEADER.contentPath]: rid,
    [HEADER.altContentPath]: request.path.raw.split('/').slice(0, 2).join('/'),
    // There is no index that could be behind.
    [HEADER.indexProgress]: '100',
    ...(definition.indexingMode === 'lazy' && { [HEADER.lazyProgress]: '100' }),
    ...(isTrue(request.header(HEADER.populateQuotaInfo)) && { [HEADER.resourceQuota]: QUOTA }),
  }
}
