import type { WriterRequest } from './writer-messages.ts'

/**
 * Maximum number of characters of one transaction's texts: other processes wait for the lock while they are written and
 * synced.
 */
const MAX_GROUP_CHARS: number = 8 * 2 ** 20

/** The first requests that fit into one transaction. A single request can be larger. */
export function firstGroup(
  waiting: readonly WriterRequest[],
  maxOperations: number,
): readonly WriterRequest[] {
  let operations = 0
  let chars = 0
  const end = waiting.findIndex((request, index) => {
    operations += operationsOf(request)
    chars += request.chars
    return index > 0 && (operations > maxOperations || chars > MAX_GROUP_CHARS)
  })
  return end === -1 ? waiting : waiting.slice(0, end)
}

function operationsOf({ task }: WriterRequest): number {
  if (task.kind !== 'commit') return 1
  return task.batches.reduce((sum, { operations }) => sum + operations.length, 0)
}
