import { setTimeout as sleep } from 'node:timers/promises'
import { decodeContinuation } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { outageCodes } from '../store-place.ts'
import {
  BUSY_MAINTENANCE,
  WAITING_GROUP,
  keyOf,
  openFeatureStore,
  type FeatureDocument,
} from './feature-store.ts'
import type { ArchiveMessage, ArchivedPage, ArchiveTask } from './feature-tasks.ts'
import { Journal, readJournal, type JournalEntry } from './journal.ts'
import { noteEvents } from './note-events.ts'
import { untilDone } from './until-done.ts'

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
const outages = outageCodes(task.place)
{
  await using opened = await openFeatureStore({
    place: task.place,
    maintenance: BUSY_MAINTENANCE,
  })
  const { store, documents } = opened
  noteEvents(store, { journal: new Journal<JournalEntry>(task.events), outages })
  process.send?.({ kind: 'following' } satisfies ArchiveMessage)
  for (let isLast = false; !isLast;) {
    isLast = stopping.signal.aborted
    const from = continuation === undefined ? 'beginning' : { continuation }
    for await (const page of documents.changes({ from, follow: false, maxItemCount: PAGE_ITEMS })) {
      if (page.continuation === continuation) continue
      continuation = page.continuation
      const pendingDeletes = page.changes.flatMap((change) => {
        if (change.kind !== 'pendingDelete') return []
        const { lsn, lastVersion, expiredAtMs } = change
        return [{ key: keyOf(lastVersion), lsn, version: lastVersion.version, expiredAtMs }]
      })
      journal.note({ pendingDeletes, continuation })
      await untilDone(outages, () => report(documents, page.continuation))
    }
    await sleep(PAUSE_MS)
  }
}
await new Promise((resolve) => {
  process.send?.({ kind: 'caughtUp' } satisfies ArchiveMessage, resolve)
})
process.disconnect()

async function report(documents: Collection<FeatureDocument>, reached: string): Promise<void> {
  const { positions } = decodeContinuation(reached)
  await documents.positions.report(
    positions.map(({ range, lsn }) => ({ group: WAITING_GROUP, range, lsn })),
  )
}
