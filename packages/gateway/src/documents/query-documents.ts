import type { Clock } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import type { FoundCollection } from '../collections/collection-directory.ts'
import { jsonAnswer, type Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { indexMetricsHeader } from '../protocol/index-metrics.ts'
import { listBody } from '../protocol/list-body.ts'
import { METADATA_CHARGE, chargeText, queryCharge } from '../protocol/request-charge.ts'
import { queryMetricsText } from '../protocol/query-metrics.ts'
import { isTrue, itemCount } from '../protocol/request-values.ts'
import { equalities, type Equality } from '../query/execution/equalities.ts'
import { parseInTurn } from '../query/parse-in-turn.ts'
import { assertSupported } from '../query/plan/features.ts'
import { identityOf } from '../query/plan/rewrite.ts'
import { queryPlan } from '../query/plan/query-plan.ts'
import type { ComputedProperty, QueryParameter, QueryResultPage } from '../query/query-options.ts'
import { isReversed } from '../query/execution/rank.ts'
import { runQuery } from '../query/execution/run-query.ts'
import type { Query } from '../query/syntax/query.ts'
import { annotationOf } from '../resources/container-annotation.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { parseQueryBody } from '../requests/query-body.ts'
import { assertCompositeIndex } from './composite-index.ts'
import { assertCrossPartition, narrowedScope, plannedRange, queryScope } from './query-scope.ts'
import { querySource } from './query-source.ts'
import { answerAllDocuments } from './read-all-documents.ts'
import { assertSession } from './session-check.ts'

/** A query for whole documents without a condition: their texts go out as they are. */
const WHOLE_DOCUMENTS = /^\s*SELECT\s+\*\s+FROM\s+[A-Z_]\w*\s*(?:;\s*)?$/i

/** POST …/docs as a query, over the whole container unless headers narrow it. */
export const queryDocuments: Operation = async (request, context) => {
  const budget = request.queryBudget()
  const body = parseQueryBody(await request.readBody(), budget)
  const query = await parseInTurn(body.text, budget)
  const began = { request, query, startedMs: context.clock.monotonicMs(), clock: context.clock }
  return context.collections.use(collectionNames(request.path), async (found) => {
    assertIntended(request, found.open.record)
    if (WHOLE_DOCUMENTS.test(body.text)) {
      assertCrossPartition(request, await context.ranges.of(found.open))
      return answerAllDocuments(request, context, found)
    }
    const scope = await queryScope(request, context, found.open)
    const budgets = scope.ranges.map(({ number }) => `${found.open.record.rid}/${number}`)
    for (const id of budgets) context.budgets.admit(id)
    const spend = (units: number): void => {
      for (const id of budgets) context.budgets.spend(id, units / budgets.length)
    }
    await assertSession(request, context, { open: found.open, ranges: scope.ranges })
    const { rid } = found.open.record
    // Its computed properties may have been replaced, by another process too.
    const present = await found.collection.readRecord()
    const { echo } = annotationOf(present)
    assertCompositeIndex(query, echo['indexingPolicy'])
    const computedProperties = computedPropertiesOf(echo)
    const conditions = storedEqualities(query, body.parameters, computedProperties)
    const narrow = narrowedScope(found.open, scope, conditions)
    if (narrow.partitionKey === undefined) assertCrossPartition(request, scope.ranges)
    const page = await runQuery(query, {
      parameters: body.parameters,
      computedProperties,
      source: querySource(found.open, narrow),
      identity: identityOf(query),
      scope: rid,
      range: scope.range,
      continuation: request.header(HEADER.continuation),
      maxItemCount: itemCount(HEADER.maxItemCount, request.header(HEADER.maxItemCount)),
      clock: context.clock,
      budget,
      signal: request.signal,
    }).catch((error: unknown) => {
      // It has computed all the same.
      spend(queryCharge({ chars: 0, examined: 0, steps: budget.steps }))
      throw error
    })
    const answer = rowsAnswer(began, found, page)
    spend(answer.charge)
    return answer.answer
  })
}

interface BegunQuery {
  readonly request: GatewayRequest
  readonly query: Query
  readonly clock: Clock
  readonly startedMs: number
}

/** Rows as the wire has them, and what they cost. */
function rowsAnswer(
  { request, query, clock, startedMs }: BegunQuery,
  { open }: FoundCollection,
  { items, continuation, examined, steps }: QueryResultPage,
): { readonly answer: Answer; readonly charge: number } {
  const { rid } = open.record
  const rows = items.map((item) => JSON.stringify(item))
  let chars = 0
  for (const row of rows) chars += row.length
  const charge = queryCharge({ chars, examined, steps })
  const headers = {
    [HEADER.requestCharge]: chargeText(charge),
    [HEADER.contentPath]: rid,
    [HEADER.altContentPath]: request.path.raw.split('/').slice(0, 4).join('/'),
    [HEADER.itemCount]: String(rows.length),
    ...(continuation !== undefined && { [HEADER.continuation]: continuation }),
    ...(query.orderBy.length > 0 && { [HEADER.queryExecutionInfo]: executionInfo(query) }),
    ...indexMetricsHeader(request),
    ...(isTrue(request.header(HEADER.populateQueryMetrics)) && {
      [HEADER.queryMetrics]: queryMetricsText({
        examined,
        rows: rows.length,
        rowChars: chars,
        elapsedMs: clock.monotonicMs() - startedMs,
      }),
    }),
  }
  return {
    answer: { status: 200, headers, body: listBody({ rid, name: 'Documents' }, rows) },
    charge,
  }
}

/** Tells clients that merge ranges in which order of their `_rid`s equal rows come. */
function executionInfo({ orderBy }: Query): string {
  const reverseIndexScan = isReversed(orderBy.map(({ descending }) => descending))
  return JSON.stringify({ reverseRidEnabled: false, reverseIndexScan })
}

/** The conditions of WHERE that speak of what is stored. */
function storedEqualities(
  query: Query,
  parameters: readonly QueryParameter[],
  properties: readonly ComputedProperty[],
): readonly Equality[] {
  const computed = new Set(properties.map(({ name }) => name))
  return equalities(query, parameters).filter(({ path }) => !computed.has(path[0] ?? ''))
}

/** POST …/docs as a request for a plan: what the client is to ask each pkrange, and how to merge the answers. */
export const planQuery: Operation = async (request, context) => {
  const budget = request.queryBudget()
  const { text, parameters } = parseQueryBody(await request.readBody(), budget)
  const query = await parseInTurn(text, budget)
  return context.collections.use(collectionNames(request.path), async ({ collection, open }) => {
    const { echo } = annotationOf(await collection.readRecord())
    assertCompositeIndex(query, echo['indexingPolicy'])
    const conditions = storedEqualities(query, parameters, computedPropertiesOf(echo))
    const plan = queryPlan(query, { parameters, range: plannedRange(open, conditions) })
    assertSupported(plan.queryInfo, request.header(HEADER.supportedFeatures))
    return jsonAnswer(200, plan, { [HEADER.requestCharge]: chargeText(METADATA_CHARGE) })
  })
}

/** The computed properties of a container's definition; what cannot be read is none. */
function computedPropertiesOf(definition: JsonRecord): readonly ComputedProperty[] {
  const { computedProperties: list } = definition
  if (!Array.isArray(list)) return []
  return list.flatMap((property: unknown) => {
    if (!isJsonRecord(property)) return []
    const { name, query } = property
    return typeof name === 'string' && typeof query === 'string' ? [{ name, query }] : []
  })
}
