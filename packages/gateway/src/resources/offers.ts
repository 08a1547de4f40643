import { ResourceNotFoundError, errorCode, BadRequestError } from '@tidemark/contracts'
import { eventLoopTurn, type JsonRecord } from '@tidemark/contracts/internal'
import type { Collection, CollectionRecord, Store } from '@tidemark/store'
import type { DatabaseRecord } from '@tidemark/store/engine'
import { collectionSelfLink } from '@tidemark/store/engine'
import { GatewayStoppingError } from '../errors/gateway-stopping-error.ts'
import { jsonAnswer, type Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import { parseJsonRecord } from '../protocol/request-values.ts'
import type { ResourcePath } from '../protocol/resource-path.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { answerList } from './answer-list.ts'
import { changeRecord } from './change-record.ts'
import {
  annotationOf,
  annotationText,
  databaseAnnotationText,
  databaseOffer,
} from './container-annotation.ts'
import {
  isOfferId,
  offerBody,
  offerId,
  offerOfContent,
  rangesOfOffer,
  type Offer,
} from './offer.ts'

interface OfferedCollection {
  readonly collection: Collection
  readonly record: CollectionRecord
}

/** GET /offers, and POST /offers as a query. */
export const listOffers: Operation = async (request, { store }) => {
  const offered = await allCollections(store)
  const items: (() => JsonRecord)[] = []
  for (const { record } of offered) items.push(() => bodyOf(record))
  for (const database of await store.listDatabases()) {
    const offer = databaseOffer(database)
    if (offer !== undefined) items.push(() => databaseBodyOf(database, offer))
  }
  return answerList(request, { rid: '', name: 'Offers', items, bodyOf: (body) => body() })
}

/** GET /offers/{id} */
export const readOffer: Operation = async ({ path }, { store }) => {
  const id = offerIdOf(path)
  const database = await offeredDatabase(store, id)
  const offer = database && databaseOffer(database)
  if (database !== undefined && offer !== undefined) {
    return offerAnswer(databaseBodyOf(database, offer))
  }
  const { record } = await offeredCollection(store, id)
  return offerAnswer(bodyOf(record))
}

/**
 * PUT /offers/{id}: splits at once until there is a pkrange for each 10,000 units begun; never merges. One that ends early, because
 * its time is over, its client is gone or the gateway stops, goes on when it is sent again.
 */
export const replaceOffer: Operation = async (request, context) => {
  const id = offerIdOf(request.path)
  const body = parseJsonRecord(await request.readBody())
  assertSameOffer(body, id)
  const offer = offerOfContent(body['content'])
  const ifMatch = request.header(HEADER.ifMatch)
  const database = await offeredDatabase(context.store, id)
  if (database !== undefined) {
    const handle = context.store.database(database.id)
    const annotation = databaseAnnotationText(offer)
    const changed = await changeRecord({
      ifMatch,
      read: () => handle.readRecord(),
      write: ({ etag }) => handle.annotate(annotation, { ifMatch: etag }),
    })
    return offerAnswer(databaseBodyOf(changed, offer))
  }
  const { collection } = await offeredCollection(context.store, id)
  const changed = await changeRecord({
    ifMatch,
    read: () => collection.readRecord(),
    write: (before) => {
      const annotation = annotationText({ echo: annotationOf(before).echo, offer })
      return collection.updateSettings({ annotation }, { ifMatch: before.etag })
    },
  })
  await splitUpTo(collection, rangesOfOffer(offer), request)
  context.ranges.forgetAll()
  return offerAnswer(bodyOf(changed))
}

/**
 * Splits until there are `count` pkranges: always the one that has come of the fewest splits, so that they stay even.
 * One whose documents all have one key is left as it is.
 */
async function splitUpTo(
  collection: Collection,
  count: number,
  { signal, draining }: GatewayRequest,
): Promise<void> {
  const indivisible = new Set<string>()
  for (;;) {
    // An engine in memory would leave no time for a client that leaves to be noticed.
    await eventLoopTurn()
    signal.throwIfAborted()
    if (draining.aborted)
      throw new GatewayStoppingError('the gateway stops before all splits are done')
    const { ranges } = await collection.readPartitionKeyRanges({ maxItemCount: count })
    const [next] = ranges
      .filter(({ id }) => !indivisible.has(id))
      .toSorted((a, b) => a.parents.length - b.parents.length)
    if (ranges.length >= count || next === undefined) return
    try {
      await collection.split(next.id)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'ERR_RANGE_INDIVISIBLE') indivisible.add(next.id)
      // Another process has split it: look again.
      else if (code !== 'ERR_RANGE_GONE') throw error
    }
  }
}

/** The id of an offer that a path names. @throws ERR_BAD_REQUEST when no offer can have it */
function offerIdOf({ segments }: ResourcePath): string {
  const id = (segments[1] ?? '').toLowerCase()
  if (isOfferId(id)) return id
  throw new BadRequestError(
    `${JSON.stringify(id)} is no id of an offer: take it from a list of offers`,
  )
}

/** @throws ERR_BAD_REQUEST when what is sent is another offer than the path names */
function assertSameOffer(body: JsonRecord, id: string): void {
  for (const name of ['id', '_rid']) {
    const given = body[name]
    if (given === undefined || (typeof given === 'string' && given.toLowerCase() === id)) continue
    throw new BadRequestError(
      `the body has the "${name}" ${JSON.stringify(given)}, and the path names the offer ${id}`,
    )
  }
}

async function offeredCollection(store: Store, id: string): Promise<OfferedCollection> {
  const found = (await allCollections(store)).find(({ record }) => offerId(record.rid) === id)
  if (found === undefined) throw new ResourceNotFoundError('offer', id)
  return found
}

async function allCollections(store: Store): Promise<readonly OfferedCollection[]> {
  return (await store.listCollections()).map(({ databaseId, record }) => ({
    collection: store.database(databaseId).collection(record.id),
    record,
  }))
}

/** The database that has an offer of that id. */
async function offeredDatabase(store: Store, id: string): Promise<DatabaseRecord | undefined> {
  return (await store.listDatabases()).find(
    (record) => offerId(record.rid) === id && databaseOffer(record) !== undefined,
  )
}

function bodyOf(record: CollectionRecord): JsonRecord {
  const { rid, etag, ts } = record
  const owner = { rid, etag, ts, resource: collectionSelfLink(record) }
  return offerBody(owner, annotationOf(record).offer)
}

function databaseBodyOf({ rid, etag, ts }: DatabaseRecord, offer: Offer): JsonRecord {
  return offerBody({ rid, etag, ts, resource: `dbs/${rid}/` }, offer)
}

function offerAnswer(body: JsonRecord): Answer {
  return jsonAnswer(200, body, {
    [HEADER.requestCharge]: chargeText(METADATA_CHARGE),
    [HEADER.etag]: String(body['_etag']),
  })
}
