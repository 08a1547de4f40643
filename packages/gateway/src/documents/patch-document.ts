import { type PatchOperation, BadRequestError } from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import { parseJson } from '../protocol/request-values.ts'
import type { QueryBudget } from '../query/query-budget.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { addressedId } from './addressed-id.ts'
import { inKeyScope } from './key-scope.ts'
import { patchCondition, type DocumentCondition } from './patch-condition.ts'
import { writeOptions, written } from './write-document.ts'
import { checkTtl } from './document-ttl.ts'

/** What a client asks of a patch. */
export interface PatchRequest {
  readonly operations: readonly PatchOperation[]
  readonly condition: DocumentCondition | undefined
}

/** PATCH /dbs/{db}/colls/{coll}/docs/{id} */
export const patchDocument: Operation = async (request, context) => {
  const { operations, condition } = parsePatch(
    parseJson(await request.readBody()),
    request.queryBudget(),
  )
  return inKeyScope(request, context, async (scope) => {
    checkTtl({ operations })
    const options = { ...writeOptions(request), condition }
    const id = await addressedId(request, scope, context)
    const result = await scope.collection.patch(id, scope.partitionKey, operations, options)
    return written(request, result, 200)
  })
}

/**
 * A patch on the wire: a list of operations, or an object of them and a condition. What each operation may do is
 * judged by the store.
 *
 * @throws ERR_BAD_REQUEST, ERR_BAD_QUERY for a condition that cannot be read
 */
export function parsePatch(body: unknown, budget: QueryBudget): PatchRequest {
  if (Array.isArray(body)) return { operations: body.map(parseOperation), condition: undefined }
  const operations = isJsonRecord(body) ? body['operations'] : undefined
  if (!isJsonRecord(body) || !Array.isArray(operations)) {
    throw new BadRequestError('a patch is a list of operations, or an object with "operations"')
  }
  const { condition } = body
  if (condition !== undefined && typeof condition !== 'string') {
    throw new BadRequestError('the condition of a patch must be a text')
  }
  return {
    operations: operations.map(parseOperation),
    condition:
      condition === undefined || condition === '' ? undefined : patchCondition(condition, budget),
  }
}

function parseOperation(value: unknown, index: number): PatchOperation {
  if (
    !isJsonRecord(value) ||
    typeof value['op'] !== 'string' ||
    typeof value['path'] !== 'string' ||
    (value['op'] === 'move' && typeof value['from'] !== 'string')
  ) {
    throw new BadRequestError(`patch operation ${index} must be an object with "op" and "path"`)
  }
  // The store refuses operations that it does not know, and values that do not fit.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return value as unknown as PatchOperation
}
