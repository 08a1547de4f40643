import { pkRangeId } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { MaintenanceTask } from '../engine/maintenance.ts'
import type { StoreEventEmitter } from '../events/store-event-emitter.ts'

/** Emits an event for a piece of work that processed something, or that completed a task of several pieces. */
export function emitPiece(
  { events, databaseId }: { events: Pick<StoreEventEmitter, 'emit'>; databaseId: string },
  task: MaintenanceTask,
  { items, more }: { readonly items: number; readonly more: boolean },
): void {
  const base = { databaseId, collectionId: task.collection.id }
  if (items === 0 && task.kind !== 'expiryIndex') return
  switch (task.kind) {
    case 'sweep':
      return events.emit('swept', { ...base, documents: items })
    case 'purge':
      return events.emit('purged', { ...base, pendingDeletes: items })
    case 'trimVersions':
      return events.emit('versionsTrimmed', { ...base, entries: items })
    case 'expiryIndex':
      return events.emit('expiryReindexed', { ...base, documents: items, isDone: !more })
    case 'fold':
      return events.emit('folded', {
        ...base,
        rangeId: pkRangeId(String(task.range)),
        rows: items,
      })
    default:
      return assertNever(task)
  }
}
