import type { Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { indexMetricsHeader } from '../protocol/index-metrics.ts'
import { listBody } from '../protocol/list-body.ts'
import { chargeText, pageCharge } from '../protocol/request-charge.ts'
import { queryMetricsText } from '../protocol/query-metrics.ts'
import { isTrue, itemCount } from '../protocol/request-values.ts'
import { parsePartitionKeyText } from '@tidemark/contracts/internal'
import { collectionNames } from '../resources/resource-names.ts'
import type { FoundCollection } from '../collections/collection-directory.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { documentText } from './document-text.ts'
import { queryScope } from './query-scope.ts'
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
  const { ranges, range, partitionKey } = await queryScope(request, context, open)
  const budgets = ranges.map(({ number }) => `${open.record.rid}/${number}`)
  for (const budget of budgets) context.budgets.admit(budget)
  await assertSession(request, context, { open, ranges })
  const page = await collection.readDocumentsText({
    ...(partitionKey === undefined
      ? { range }
      : { partitionKey: parsePartitionKeyText(partitionKey) }),
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
