import { errorCode } from '@tidemark/contracts'
import type { Store, StoreEvents } from '@tidemark/store'
import type { Journal, JournalEntry } from './journal.ts'

/** Notes what this process did in the background. Background work that fails ends it, but for `outages`. */
export function noteEvents(
  { events }: Store,
  {
    journal,
    outages,
  }: { readonly journal: Journal<JournalEntry>; readonly outages: readonly string[] },
): void {
  const note = (name: keyof StoreEvents, items: number): void =>
    journal.note({ kind: 'event', name, items })
  events.on('swept', ({ documents }) => note('swept', documents))
  events.on('purged', ({ pendingDeletes }) => note('purged', pendingDeletes))
  events.on('versionsTrimmed', ({ entries }) => note('versionsTrimmed', entries))
  events.on('folded', ({ rows }) => note('folded', rows))
  events.on('expiryReindexed', ({ documents }) => note('expiryReindexed', documents))
  events.on('rangeSplit', () => note('rangeSplit', 1))
  events.on('rangesMerged', () => note('rangesMerged', 1))
  events.on('maintenanceFailed', ({ work, error }) => {
    if (outages.includes(errorCode(error) ?? '')) return note('maintenanceFailed', 1)
    console.error(`${work} failed:`, error)
    process.exit(1)
  })
}
