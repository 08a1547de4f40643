import { ttlUntil } from '../engine/expiry.ts'
import type { CommitOperation } from '../engine/commit.ts'
import type { PlannedBatch } from './commit-plan.ts'
import { deleteDocument, expireDocument, putDocument } from './write-rows.ts'

/** Applies the plan of one batch. */
export function applyBatch(planned: PlannedBatch, timeMs: number): void {
  const { batch, collection, range, lsn, expiries } = planned
  for (const { row, expiredAt, lsn: expiryLsn } of expiries) {
    expireDocument(collection, { row, expiredAt }, { lsn: expiryLsn, timeMs })
  }
  range.lsn = lsn
  const { epk, partitionKey } = batch
  for (const operation of batch.operations) {
    const { id } = operation
    if (operation.kind === 'delete') {
      // An expired one stays: its pending delete follows later.
      const present = collection.read({ partitionKey, id }, timeMs)
      if (present !== undefined) deleteDocument(collection, present, { lsn, timeMs })
    }
    if (operation.kind !== 'put') continue
    const ts = Math.floor(timeMs / 1000)
    const made =
      operation.expirySecond === undefined ? undefined : ttlUntil(operation.expirySecond, ts)
    const { rid, body } = operation
    const version = { lsn, ts, rid, ttl: made ?? null, body }
    const ttl = made ?? storedTtl(operation)
    putDocument(collection, { epk, partitionKey, id, ttl, version }, { lsn, timeMs })
  }
}

/** An invalid value is accepted only while TTL is off, and counts as none when TTL is switched on (TTL-9). */
function storedTtl({ ttl }: Extract<CommitOperation, { kind: 'put' }>): number {
  return ttl === 'invalid' ? 0 : ttl
}
