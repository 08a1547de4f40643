import { setTimeout as sleep } from 'node:timers/promises'
import { decodeContinuation } from '@tidemark/contracts'
import { BUSY_MAINTENANCE, WAITING_GROUP, keyOf, openFeatureStore } from './feature-store.ts'
import type { ArchiveMessage, ArchivedPage, ArchiveTask } from './feature-tasks.ts'
import { Journal, readJournal, type JournalEntry } from './journal.ts'
import { noteEvents } from './note-events.ts'

/*
 * The waiting group: follows the feed, notes each pending delete, then reports its position. A page and
 * its continuation are one line, so that being killed makes it neither miss nor repeat one.
 */

const PAGE_ITEMS = 50
const PAUSE_MS = 5

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as ArchiveTask
const stopping = new AbortController()
process.once('message', () => stopping.abort())

let continuation = readJournal<ArchivedPage>(task.journal).at(-1)?.continuation
const journal = new Journal<ArchivedPage>(task.journal)
{
  await using opened = await openFeatureStore({
    ...task,
    durability: 'sync',
    maintenance: BUSY_MAINTENANCE,
  })
  const { store, documents } = opened
  noteEvents(store, new Journal<JournalEntry>(task.events))
  process.send?.({ kind: 'following' } satisfies ArchiveMessage)
  for (let isLast = false; !isLast;) {
    isLast = stopping.signal.aborted
    const from = continuation === undefined ? 'beginning' : { continuation }
    for await (const page of documents.changes({ from, follow: false, maxItemCount: PAGE_ITEMS })) {
      if (page.continuation === continuation) continue
      continuation = page.continuation
      const pendingDeletes = page.changes.flatMap((change) => {
        if (change.kind !== 'pendingDelete') return []
        const { lsn, lastVersion, expiredAt } = change
        return [{ key: keyOf(lastVersion), lsn, version: lastVersion.version, expiredAt }]
      })
      journal.note({ pendingDeletes, continuation })
      await documents.positions.report(
        decodeContinuation(continuation).positions.map(({ range, lsn }) => {
          return { group: WAITING_GROUP, range, lsn }
        }),
      )
    }
    await sleep(PAUSE_MS)
  }
}
await new Promise((resolve) => {
  process.send?.({ kind: 'caughtUp' } satisfies ArchiveMessage, resolve)
})
process.disconnect()
