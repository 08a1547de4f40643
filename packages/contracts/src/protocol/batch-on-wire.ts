import type { BatchOperation } from '../documents/document-collection.ts'
import type { DocumentBody } from '../documents/document.ts'
import { assertNever } from '../errors/assert-never.ts'
import { BatchFailedError } from '../errors/batch-failed-error.ts'
import { InvalidOptionError } from '../errors/invalid-option-error.ts'
import { UnsupportedServerError } from '../errors/unsupported-server-error.ts'
import { isJsonRecord, type JsonRecord } from './json-record.ts'
import { FAILED_DEPENDENCY } from './status-codes.ts'
import { errorOfWire, type WireFailure } from './wire-error.ts'

/**
 * An operation of a batch as the wire has it.
 *
 * @throws ERR_INVALID_OPTION for a condition that is a function: it cannot be sent
 */
function wireOperation<T extends DocumentBody>(operation: BatchOperation<T>): JsonRecord {
  const { kind } = operation
  switch (kind) {
    case 'create':
      return { operationType: 'Create', resourceBody: operation.document }
    case 'upsert':
      return { operationType: 'Upsert', resourceBody: operation.document, ...conditions(operation) }
    case 'replace': {
      const { document } = operation
      const body = { operationType: 'Replace', id: document.id, resourceBody: document }
      return { ...body, ...conditions(operation) }
    }
    case 'patch': {
      const { id, operations, condition } = operation
      if (condition !== undefined) {
        throw new InvalidOptionError(
          `patch of ${JSON.stringify(id)}: a condition that is a function cannot be sent in a batch; use ifMatch`,
        )
      }
      return { operationType: 'Patch', id, resourceBody: { operations }, ...conditions(operation) }
    }
    case 'read':
      return { operationType: 'Read', id: operation.id, ...conditions(operation) }
    case 'delete':
      return { operationType: 'Delete', id: operation.id, ...conditions(operation) }
    default:
      return assertNever(operation)
  }
}

/** The service's limit of one batch (ST-4). */
const MAX_OPERATIONS = 100

/**
 * The operations of a batch as the wire has them.
 *
 * @throws ERR_INVALID_OPTION
 */
export function wireOperations<T extends DocumentBody>(
  operations: readonly BatchOperation<T>[],
): readonly JsonRecord[] {
  if (operations.length < 1 || operations.length > MAX_OPERATIONS) {
    throw new InvalidOptionError(
      `a batch has 1 to ${MAX_OPERATIONS} operations, got ${operations.length}`,
    )
  }
  return operations.map(wireOperation)
}

/**
 * The documents of a batch that was done, one entry an operation. `said` is what our own gateway says of its failure.
 *
 * @throws ERR_BATCH_FAILED naming the operation that failed, ERR_SERVER_UNSUPPORTED
 */
export function batchDocuments<T extends DocumentBody>(
  results: unknown,
  operations: readonly BatchOperation<T>[],
  said: Pick<WireFailure, 'code' | 'detail'> = {},
): readonly unknown[] {
  if (!Array.isArray(results) || results.length !== operations.length) {
    throw new UnsupportedServerError('the server answers a batch with no list of its results')
  }
  return results.map((result: unknown) => {
    const status = isJsonRecord(result) ? result['statusCode'] : undefined
    if (!isJsonRecord(result) || typeof status !== 'number') {
      throw new UnsupportedServerError('the server answers a batch with a result without status')
    }
    if (status >= 400) throw failureOf(results, operations, said)
    return result['resourceBody']
  })
}

function failureOf<T extends DocumentBody>(
  results: readonly unknown[],
  operations: readonly BatchOperation<T>[],
  said: Pick<WireFailure, 'code' | 'detail'>,
): BatchFailedError {
  const failed = (result: unknown): boolean =>
    isJsonRecord(result) &&
    typeof result['statusCode'] === 'number' &&
    result['statusCode'] >= 400 &&
    result['statusCode'] !== FAILED_DEPENDENCY.status
  const index = Math.max(0, results.findIndex(failed))
  const result = results[index]
  const operation = operations[index]
  const { statusCode = 400, subStatusCode, message } = isJsonRecord(result) ? result : {}
  const cause = errorOfWire(
    {
      status: Number(statusCode),
      substatus: typeof subStatusCode === 'number' ? subStatusCode : undefined,
      message: typeof message === 'string' ? message : `operation ${index} failed`,
      ...said,
    },
    { resource: 'document', id: operation === undefined ? '' : idOf(operation), effect: 'none' },
  )
  return new BatchFailedError(index, cause)
}

function idOf<T extends DocumentBody>(operation: BatchOperation<T>): string {
  return 'document' in operation ? operation.document.id : operation.id
}

function conditions({
  ifMatch,
  ifNoneMatch,
}: {
  readonly ifMatch?: string | undefined
  readonly ifNoneMatch?: string | undefined
}): JsonRecord {
  return {
    ...(ifMatch !== undefined && { ifMatch }),
    ...(ifNoneMatch !== undefined && { ifNoneMatch }),
  }
}
