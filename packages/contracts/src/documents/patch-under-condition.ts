import { errorCode } from '../errors/coded-error.ts'
import { PreconditionFailedError } from '../errors/precondition-failed-error.ts'
import { ResourceNotFoundError } from '../errors/resource-errors.ts'
import type { PatchOptions, ReadResult, WriteOptions, WriteResult } from './document-collection.ts'
import type { DocumentBody } from './document.ts'

/** Of a document that others write to all the time. */
const MAX_ATTEMPTS = 20

/**
 * A patch under a condition that is a function, at a server that cannot run it: it is evaluated here, on a version that the
 * patch then requires. Without a condition the patch is sent as it is.
 *
 * Rejects with ERR_NOT_FOUND, ERR_PRECONDITION_FAILED, and as `read` and `patch`.
 */
export async function patchUnderCondition<T extends DocumentBody>(
  {
    id,
    read,
    options: { condition, ...options },
  }: {
    readonly id: string
    readonly read: () => Promise<ReadResult<T>>
    readonly options: PatchOptions<T>
  },
  patch: (options: WriteOptions) => Promise<WriteResult<T>>,
): Promise<WriteResult<T>> {
  if (condition === undefined) return patch(options)
  for (let attempt = 1; ; attempt++) {
    const { document } = await read()
    // A document made after this read would be patched without being judged.
    if (document === undefined) throw new ResourceNotFoundError('document', id)
    if (!condition(document)) {
      throw new PreconditionFailedError(id, 'the condition of the patch is not true')
    }
    const matchesAny = options.ifMatch === undefined || options.ifMatch === '*'
    const ifMatch = matchesAny ? document._etag : options.ifMatch
    try {
      return await patch({ ...options, ifMatch })
    } catch (error) {
      const isOvertaken = errorCode(error) === 'ERR_PRECONDITION_FAILED' && matchesAny
      if (!isOvertaken || attempt >= MAX_ATTEMPTS) throw error
    }
  }
}
