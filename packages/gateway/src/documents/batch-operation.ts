import { type BatchOperation, type DocumentBody, BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import { RequestTooLargeError } from '../errors/request-too-large-error.ts'
import { parseJson } from '../protocol/request-values.ts'
import type { QueryBudget } from '../query/query-budget.ts'
import { parsePatch } from './patch-document.ts'
import { documentBody } from './write-document.ts'

/** One operation of a batch or a bulk request. */
export interface WireOperation {
  readonly operation: BatchOperation<DocumentBody>
  /** JSON text of its own partition key value; undefined when it takes the request's. */
  readonly partitionKey: string | undefined
}

/** Of one request, both kinds (as the service documents). */
export const MAX_OPERATIONS = 100
/** Of one request, both kinds (as the service documents). */
const MAX_BATCH_BYTES = 2 * 1024 * 1024

/**
 * An empty list is accepted here; the caller decides. A client that distributes its operations again after a split sends
 * empty lists.
 *
 * @throws ERR_BAD_REQUEST naming the operation, ERR_BAD_QUERY, ERR_REQUEST_TOO_LARGE
 */
export function parseOperations(text: string, budget: QueryBudget): readonly WireOperation[] {
  if (Buffer.byteLength(text) > MAX_BATCH_BYTES) {
    // In the service's words: clients look for them.
    throw new RequestTooLargeError('Message: {"Errors":["Request size is too large"]}')
  }
  const body = parseJson(text)
  if (!Array.isArray(body)) throw new BadRequestError('a batch is a list of operations')
  if (body.length > MAX_OPERATIONS) {
    throw new BadRequestError(`a batch has 1 to ${MAX_OPERATIONS} operations, got ${body.length}`)
  }
  return body.map((value: unknown, index) => {
    if (!isJsonRecord(value)) throw new BadRequestError(`operation ${index} must be an object`)
    const { partitionKey } = value
    return {
      operation: parseOperation(value, { index, budget }),
      partitionKey: partitionKey === undefined ? undefined : keyText(partitionKey),
    }
  })
}

function parseOperation(
  value: JsonRecord,
  { index, budget }: { readonly index: number; readonly budget: QueryBudget },
): BatchOperation<DocumentBody> {
  const { operationType } = value
  const conditions = {
    ifMatch: optionalText(value, 'ifMatch', index),
    ifNoneMatch: optionalText(value, 'ifNoneMatch', index),
  }
  switch (operationType) {
    case 'Create':
      return { kind: 'create', document: document(value, index) }
    case 'Upsert':
      return { kind: 'upsert', document: document(value, index), ...conditions }
    case 'Replace': {
      const body = document(value, index)
      const id = optionalText(value, 'id', index)
      if (id !== undefined && id !== body.id) {
        throw new BadRequestError(`operation ${index}: "id" and the id of "resourceBody" differ`)
      }
      return { kind: 'replace', document: body, ...conditions }
    }
    case 'Read':
      return { kind: 'read', id: requiredId(value, index), ...conditions }
    case 'Delete':
      return { kind: 'delete', id: requiredId(value, index), ...conditions }
    case 'Patch': {
      const patch = parsePatch(value['resourceBody'], budget)
      return { kind: 'patch', id: requiredId(value, index), ...patch, ...conditions }
    }
    default:
      throw new BadRequestError(
        `operation ${index}: operationType must be Create, Upsert, Read, Replace, Delete or Patch, ` +
          `got ${JSON.stringify(operationType)}`,
      )
  }
}

function document(value: JsonRecord, index: number): DocumentBody {
  const { resourceBody } = value
  if (isJsonRecord(resourceBody)) return documentBody(resourceBody)
  throw new BadRequestError(`operation ${index}: "resourceBody" must be a JSON object`)
}

function requiredId(value: JsonRecord, index: number): string {
  const id = optionalText(value, 'id', index)
  if (id !== undefined) return id
  throw new BadRequestError(`operation ${index}: "id" is missing`)
}

function optionalText(value: JsonRecord, name: string, index: number): string | undefined {
  const text = value[name]
  if (text === undefined || text === null || typeof text === 'string') return text ?? undefined
  throw new BadRequestError(`operation ${index}: "${name}" must be a text`)
}

/** The client sends JSON text; others have been seen to send the array itself. */
function keyText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
