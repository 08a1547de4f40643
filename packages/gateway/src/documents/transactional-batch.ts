import {
  BatchFailedError,
  CodedError,
  partitionKeyText,
  type BatchOperation,
  type DocumentBody,
  BadRequestError,
} from '@tidemark/contracts'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { ownErrorHeaders } from '../protocol/own-error-headers.ts'
import { trueOrFalse } from '../protocol/request-values.ts'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { parseOperations, type WireOperation } from './batch-operation.ts'
import { checkTtl } from './document-ttl.ts'
import { inKeyScope, type KeyScope, type RangeOutcome } from './key-scope.ts'
import { NOT_RUN, failed, resultText, succeeded, type OperationResult } from './operation-result.ts'
import { fullPartitionKey } from './partition-key-header.ts'
import { storedHead } from './stored-head.ts'

/** POST …/docs as a transactional batch: all operations on one partition key value, or none (ST-4). */
export const runBatch: Operation = async (request, context) => {
  const sync = trueOrFalse(OWN_HEADER.sync, request.header(OWN_HEADER.sync))
  const operations = parseOperations(await request.readBody(), request.queryBudget())
  return inKeyScope(request, context, async (scope) => {
    assertOneKey(operations, scope)
    const wanted = operations.map(({ operation }) => operation)
    const { signal } = request
    try {
      wanted.forEach(checkOperation)
      const { texts, created, lsn, serverTimeMs } = await scope.collection.batch(
        scope.partitionKey,
        wanted,
        { signal, ...(sync !== undefined && { sync }) },
      )
      const results = operations.map(({ operation }, index) =>
        succeeded(operation.kind, { text: texts[index], created: created[index] === true }),
      )
      const headers = lsnHeader(operations, texts)
      return { ...batchOutcome(request, { operations, results, lsn }), headers, serverTimeMs }
    } catch (error) {
      if (!(error instanceof BatchFailedError)) throw error
      const { operationIndex, cause } = error
      const results = operations.map((_, index) =>
        index === operationIndex ? failed(cause) : NOT_RUN,
      )
      // Results have no code: our own client tells by it which 400 it was.
      const headers = ownErrorHeaders(cause)
      return { ...batchOutcome(request, { operations, results, lsn: undefined }), headers }
    }
  })
}

/** @throws ERR_BATCH_FAILED */
function checkOperation(operation: BatchOperation<DocumentBody>, index: number): void {
  try {
    checkTtl(operation)
  } catch (error) {
    throw error instanceof CodedError ? new BatchFailedError(index, error) : error
  }
}

/** What was written has the batch's LSN; what was read has its own, which documents on the wire do not say. */
function lsnHeader(
  operations: readonly WireOperation[],
  texts: readonly (string | undefined)[],
): Readonly<Record<string, string>> {
  if (!operations.some(({ operation }) => operation.kind === 'read')) return {}
  const lsns = texts.map((text) => (text === undefined ? '' : storedHead(text)?.lsn))
  return { [OWN_HEADER.lsns]: lsns.join(',') }
}

/** The outcome of a request of several operations: 207 as soon as one failed. */
export function batchOutcome(
  request: GatewayRequest,
  {
    operations,
    results,
    lsn,
  }: {
    readonly operations: readonly WireOperation[]
    readonly results: readonly OperationResult[]
    readonly lsn: number | undefined
  },
): RangeOutcome {
  const isMinimal = request.header(HEADER.prefer) === 'return=minimal'
  let charge = 0
  let hasFailed = false
  const texts = results.map((result, index) => {
    charge += result.charge
    if (result.status >= 400) hasFailed = true
    const withBody = !isMinimal || operations[index]?.operation.kind === 'read'
    return `${index === 0 ? '' : ','}${resultText(result, { withBody })}`
  })
  return { status: hasFailed ? 207 : 200, charge, lsn, body: ['[', ...texts, ']'] }
}

/** @throws ERR_BAD_REQUEST: the whole batch is refused */
function assertOneKey(operations: readonly WireOperation[], { open, key }: KeyScope): void {
  if (operations.length === 0) throw new BadRequestError('a batch needs at least one operation')
  for (const [index, { partitionKey }] of operations.entries()) {
    if (partitionKey === undefined) continue
    if (partitionKeyText(fullPartitionKey(partitionKey, open)) === key.text) continue
    throw new BadRequestError(
      'One or more operations within the batch request have a different partition key value than the request. ' +
        `The first of them is operation ${index}`,
    )
  }
}
