import type { ChangesPage } from '@tidemark/store'
import { keyOf, openCrashStore, type CrashDocument } from './crash-store.ts'
import type { FollowerMessage, FollowerTask } from './messages.ts'

/* Follows the feed from its beginning beside the writers; told to stop, it reads to the end and reports. */

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as FollowerTask
const stopping = new AbortController()
process.once('message', () => stopping.abort())

const seen = new Map<string, readonly [version: string, lsn: number]>()
const lastLsns = new Map<string, number>()
const faults: string[] = []
let changes = 0
let continuation: string | undefined

await using opened = await openCrashStore(task.place)
const { documents } = opened
process.send?.({ kind: 'following' } satisfies FollowerMessage)
try {
  for await (const page of documents.changes({ from: 'beginning', signal: stopping.signal })) {
    take(page)
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error
}
const from = continuation === undefined ? 'beginning' : { continuation }
for await (const page of documents.changes({ from, follow: false })) take(page)
const report: FollowerMessage = {
  kind: 'followed',
  seen: [...seen].map(([key, [version, lsn]]) => [key, version, lsn]),
  changes,
  continuation: continuation ?? '',
  faults,
}
await new Promise((resolve) => process.send?.(report, resolve))
process.disconnect()

function take(page: ChangesPage<CrashDocument>): void {
  const range = page.range.minInclusive
  // The last page's LSN may not come again; within a page all documents of a transaction share one.
  const before = lastLsns.get(range) ?? 0
  let last = before
  for (const change of page.changes) {
    if (change.kind !== 'document') continue
    const key = keyOf(change.document)
    if (change.lsn <= before || change.lsn < last) {
      faults.push(`follower got LSN ${change.lsn} of ${key} after ${last}`)
    }
    last = change.lsn
    seen.set(key, [change.document.version, change.lsn])
    changes++
  }
  lastLsns.set(range, last)
  continuation = page.continuation
}
