import type { Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { indexMetricsHeader } from '../protocol/index-metrics.ts'
import { listBody } from '../protocol/list-body.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import { chargeText, pageCharge } from '../protocol/request-charge.ts'
import { queryMetricsText } from '../protocol/query-metrics.ts'
import { isTrue, itemCount } from '../protocol/request-values.ts'
import { epkBounds } from '../protocol/epk-headers.ts'
import { commonKeys, epkPrefixRange, type FeedRange } from '@tidemark/contracts'
import { singleEpkRange } from '@tidemark/store/engine'
import type { RangeRecord, ReadDocumentsOptions } from '@tidemark/store'
import { collectionNames } from '../resources/resource-names.ts'
import type { FoundCollection } from '../collections/collection-directory.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { documentText } from './document-text.ts'
import { partitionKeyPrefix } from './partition-key-header.ts'
import { assertSession } from './session-check.ts'

/** Documents of a page when the client does not say how many (the service's own default). */
const DEFAULT_ITEMS = 100

/** GET …/docs: all current documents, of the container, a pkrange or a partition key value, in pages (ST-8). */
export const readAllDocuments: Operation = async (request, context) =>
  context.collections.use(collectionNames(request.path), (found) =>
    answerAllDocuments(request, context, found),
  )

/** One page of them, as the texts that the store keeps. */
export async function answerAllDocuments(
  request: GatewayRequest,
  context: GatewayContext,
  found: FoundCollection,
): Promise<Answer> {
  const { collection, open } = found
  assertIntended(request, open.record)
  const startedMs = context.clock.monotonicMs()
  const { ranges, ...scope } = await readScope(request, context, found)
  const budgets = ranges.map(({ number }) => `${open.record.rid}/${number}`)
  for (const budget of budgets) context.budgets.admit(budget)
  await assertSession(request, context, { open, ranges })
  const page = await collection.readDocumentsText({
    ...scope,
    maxItemCount:
      itemCount(HEADER.maxItemCount, request.header(HEADER.maxItemCount)) ?? DEFAULT_ITEMS,
    continuation: request.header(HEADER.continuation),
    signal: request.signal,
  })
  let chars = 0
  for (const body of page.bodies) chars += body.length
  const charge = pageCharge(chars)
  for (const budget of budgets) context.budgets.spend(budget, charge / budgets.length)
  return {
    status: 200,
    headers: {
      [HEADER.requestCharge]: chargeText(charge),
      [HEADER.contentPath]: open.record.rid,
      [HEADER.altContentPath]: request.path.raw.split('/').slice(0, 4).join('/'),
      [HEADER.itemCount]: String(page.bodies.length),
      ...(page.continuation !== undefined && { [HEADER.continuation]: page.continuation }),
      ...indexMetricsHeader(request),
      ...(isTrue(request.header(HEADER.populateQueryMetrics)) && {
        [HEADER.queryMetrics]: queryMetricsText({
          examined: page.bodies.length,
          rows: page.bodies.length,
          rowChars: chars,
          elapsedMs: context.clock.monotonicMs() - startedMs,
        }),
      }),
    },
    body: listBody({ rid: open.record.rid, name: 'Documents' }, page.bodies.map(documentText)),
  }
}

/** What is read, and the pkranges that it touches. */
type ReadScope = Pick<ReadDocumentsOptions, 'range' | 'partitionKey'> & {
  readonly ranges: readonly RangeRecord[]
}

async function readScope(
  request: GatewayRequest,
  context: GatewayContext,
  { open }: FoundCollection,
): Promise<ReadScope> {
  const partitionKey = partitionKeyPrefix(request, open)
  const present = await context.ranges.of(open)
  const within = (range: FeedRange): readonly RangeRecord[] =>
    present.filter((one) => commonKeys(one, range) !== undefined)
  if (partitionKey !== undefined) {
    const isFull = partitionKey.length === open.record.definition.partitionKey.paths.length
    const range = isFull
      ? singleEpkRange(open.encoder.encodeKey(partitionKey).epk)
      : epkPrefixRange(partitionKey)
    return { partitionKey, ranges: within(range) }
  }
  const bounds = epkBounds(request)
  if (bounds !== undefined) return { range: bounds, ranges: within(bounds) }
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  if (number === undefined) return { ranges: present }
  const range = await context.ranges.numbered(open, number)
  const { minInclusive, maxExclusive } = range
  return { range: { minInclusive, maxExclusive }, ranges: [range] }
}
