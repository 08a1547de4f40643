import {
  CommitTooLargeError,
  RangeGoneError,
  ResourceNotFoundError,
  errorCode,
  rangeContainsEpk,
  type PartitionKeyComponent,
  BadRequestError,
} from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { EncodedPartitionKey, RangeRecord } from '@tidemark/store/engine'
import type { FoundCollection } from '../collections/collection-directory.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { rangeNumber } from '../protocol/range-header.ts'
import { HEADER } from '../protocol/header-names.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { parseOperations, type WireOperation } from './batch-operation.ts'
import { checkTtl } from './document-ttl.ts'
import { inRange } from './key-scope.ts'
import { NOT_RUN, failed, succeeded, type OperationResult } from './operation-result.ts'
import { fullPartitionKey } from './partition-key-header.ts'
import { batchOutcome } from './transactional-batch.ts'

/** An operation with the partition key value that it is about. */
interface KeyedOperation extends WireOperation {
  readonly components: readonly PartitionKeyComponent[]
  readonly key: EncodedPartitionKey
}

/** What the operations of one request share. */
interface BulkScope extends FoundCollection {
  readonly range: RangeRecord
  readonly signal: AbortSignal
  readonly context: GatewayContext
  /** Highest LSN that an operation was given. */
  lsn: number | undefined
  /** Documents that are written are not in the answer. */
  readonly isMinimal: boolean
  /** Of the documents in the answer so far. */
  chars: number
}

/**
 * POST …/docs as bulk: operations of one pkrange, each for itself. Those on one document run in order, others side by
 * side, so that they share the store's disk syncs. Where the first failure is to end it, all run in order.
 */
export const runBulk: Operation = async (request, context) => {
  const operations = parseOperations(await request.readBody(), request.queryBudget())
  const number = rangeNumber(request.header(HEADER.pkRangeId))
  return context.collections.use(collectionNames(request.path), async (found) => {
    assertIntended(request, found.open.record)
    const range = await rangeOf(request, context, { found, number })
    const keyed = operations.map((operation, index) => keyedOperation(operation, { found, index }))
    if (!keyed.every(({ key }) => rangeContainsEpk(range, key.epk))) {
      // The client's list of ranges is old: it reads the list again and sends each operation where it belongs.
      throw new RangeGoneError(String(range.number), [])
    }
    return inRange(request, context, { open: found.open, range }, async () => {
      const scope: BulkScope = {
        ...found,
        range,
        signal: request.signal,
        context,
        isMinimal: request.header(HEADER.prefer) === 'return=minimal',
        lsn: undefined,
        chars: 0,
      }
      const results =
        request.header(HEADER.batchContinueOnError)?.toLowerCase() === 'false'
          ? await runInOrder(keyed, scope)
          : await runSideBySide(keyed, scope)
      return batchOutcome(request, { operations, results, lsn: scope.lsn })
    })
  })
}

async function rangeOf(
  request: GatewayRequest,
  { ranges }: GatewayContext,
  { found: { open }, number }: { found: FoundCollection; number: number | undefined },
): Promise<RangeRecord> {
  if (number !== undefined) return ranges.numbered(open, number)
  // A request for one partition key value needs no range.
  const text = request.header(HEADER.partitionKey)
  if (text === undefined) {
    throw new BadRequestError(`a bulk request needs header ${HEADER.pkRangeId}`)
  }
  return ranges.holding(open, open.encoder.encodeKey(fullPartitionKey(text, open)).epk)
}

function keyedOperation(
  operation: WireOperation,
  { found: { open }, index }: { readonly found: FoundCollection; readonly index: number },
): KeyedOperation {
  const { partitionKey } = operation
  if (partitionKey === undefined) {
    throw new BadRequestError(`operation ${index}: "partitionKey" is missing`)
  }
  const components = fullPartitionKey(partitionKey, open)
  return { ...operation, components, key: open.encoder.encodeKey(components) }
}

async function runInOrder(
  operations: readonly KeyedOperation[],
  scope: BulkScope,
): Promise<readonly OperationResult[]> {
  const results: OperationResult[] = []
  for (const operation of operations) {
    const hasFailed = results.some(({ status }) => status >= 400)
    results.push(hasFailed ? NOT_RUN : await run(operation, scope))
  }
  return results
}

async function runSideBySide(
  operations: readonly KeyedOperation[],
  scope: BulkScope,
): Promise<readonly OperationResult[]> {
  const latest = new Map<string, Promise<unknown>>()
  return Promise.all(
    operations.map((operation) => {
      // As JSON: an id that is no string is refused later, and may be an object that has no text of its own.
      const document = `${operation.key.text}\n${JSON.stringify(idOf(operation))}`
      const before = latest.get(document)
      const result = before === undefined ? run(operation, scope) : after(before, operation, scope)
      latest.set(document, result)
      return result
    }),
  )
}

async function after(
  before: Promise<unknown>,
  operation: KeyedOperation,
  scope: BulkScope,
): Promise<OperationResult> {
  await before
  return run(operation, scope)
}

/** Never rejects, except when the collection itself is gone: what one operation does wrong is its own result. */
async function run(operation: KeyedOperation, scope: BulkScope): Promise<OperationResult> {
  const { budgets } = scope.context
  try {
    budgets.admit(`${scope.open.record.rid}/${scope.range.number}`)
    assertRoom(scope)
    const { text, created, lsn } = await perform(operation, scope)
    const isRead = operation.operation.kind === 'read'
    if (isRead || !scope.isMinimal) scope.chars += text?.length ?? 0
    // What was written is written.
    if (isRead) assertRoom(scope)
    if (lsn !== undefined) scope.lsn = Math.max(lsn, scope.lsn ?? 0)
    return succeeded(operation.operation.kind, { text, created })
  } catch (error) {
    scope.signal.throwIfAborted()
    if (error instanceof ResourceNotFoundError && error.resource !== 'document') throw error
    if (errorCode(error) === 'ERR_RANGE_GONE') throw error
    return failed(error)
  }
}

/** As for a transactional batch. */
const MAX_ANSWER_CHARS = 16 * 1024 * 1024

function assertRoom({ chars }: BulkScope): void {
  if (chars <= MAX_ANSWER_CHARS) return
  throw new CommitTooLargeError(
    `the documents in the answer of a bulk request have at most ${MAX_ANSWER_CHARS} characters together`,
  )
}

interface Performed {
  readonly text: string | undefined
  readonly created: boolean
  readonly lsn: number | undefined
}

async function perform(
  { operation, components }: KeyedOperation,
  { collection, signal }: BulkScope,
): Promise<Performed> {
  checkTtl(operation)
  switch (operation.kind) {
    case 'create':
      return collection.create(operation.document, { partitionKey: components, signal })
    case 'upsert':
    case 'replace': {
      const { kind, document, ifMatch, ifNoneMatch } = operation
      const options = { partitionKey: components, ifMatch, ifNoneMatch, signal }
      return kind === 'upsert'
        ? collection.upsert(document, options)
        : collection.replace(document, options)
    }
    case 'patch': {
      const { id, operations, condition, ifMatch, ifNoneMatch } = operation
      const options = { condition, ifMatch, ifNoneMatch, signal }
      return collection.patch(id, components, operations, options)
    }
    case 'delete': {
      const { id, ifMatch, ifNoneMatch } = operation
      const { lsn } = await collection.delete(id, components, { ifMatch, ifNoneMatch, signal })
      return { text: undefined, created: false, lsn }
    }
    case 'read': {
      const { id, ifNoneMatch } = operation
      const read = await collection.readText(id, components, { ifNoneMatch, signal })
      if (read.etag === undefined) throw new ResourceNotFoundError('document', id)
      return { text: read.text, created: false, lsn: read.lsn }
    }
    default:
      return assertNever(operation)
  }
}

/** As it came, not checked yet. */
function idOf({ operation }: KeyedOperation): unknown {
  return 'document' in operation ? operation.document.id : operation.id
}
