import type { MessageCommand } from '@tidemark/store/messages'
import type { WriterRequest, WriterTask } from './writer-messages.ts'

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
    operations += operationsOf(request.task)
    chars += request.chars
    return index > 0 && (operations > maxOperations || chars > MAX_GROUP_CHARS)
  })
  return end === -1 ? waiting : waiting.slice(0, end)
}

export function operationsOf(task: WriterTask): number {
  switch (task.kind) {
    case 'commit':
      return (task.sends?.commands ?? [])
        .map(messagesOf)
        .concat(task.batches.map(({ operations }) => operations.length))
        .reduce((sum, count) => sum + count, 0)
    case 'messages':
      return messagesOf(task.command)
    default:
      return 1
  }
}

function messagesOf(command: MessageCommand): number {
  switch (command.kind) {
    case 'send':
      return command.parcels.reduce((sum, { messages }) => sum + messages.length, 0)
    case 'receive':
      return command.requests.reduce((sum, { max }) => sum + max, 0)
    case 'settle':
      return command.dispositions.length
    default:
      return 1
  }
}
