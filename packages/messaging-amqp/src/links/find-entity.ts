import type { EntityRecord, MessageFront } from '@tidemark/messaging/front'

const TRANSFER = '/$Transfer/$DeadLetterQueue'

/** What a client's address leads to. */
export interface FoundEntity {
  readonly record: EntityRecord
  readonly path: string
  /**
   * It is the transfer dead-letter queue of the record. Every entity has one, and it is empty: what cannot be forwarded goes
   * to the dead-letter queue (SET-13).
   */
  readonly isTransfer: boolean
}

/** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
export async function findEntity(front: MessageFront, path: string): Promise<FoundEntity> {
  const isTransfer = path.toLowerCase().endsWith(TRANSFER.toLowerCase())
  const record = await front.entity(isTransfer ? path.slice(0, -TRANSFER.length) : path)
  return { record, isTransfer, path: isTransfer ? `${record.path}${TRANSFER}` : record.path }
}
