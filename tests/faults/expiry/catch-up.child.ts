import { setTimeout as sleep } from 'node:timers/promises'
import { HistoryWriter } from '../history.ts'
import { openExpiringStore } from './expiring-store.ts'
import type { CatchUpTask } from './expiry-tasks.ts'
import { endWithParent } from '../end-with-parent.ts'

/* Does all background work that is due, and notes how much memory that took. */

const SAMPLE_MS = 100
endWithParent()
// The tests of this folder are the only callers.
const task = JSON.parse(process.argv[2] ?? '') as CatchUpTask
const history = new HistoryWriter(task.historyFile)
const collectGarbage = globalThis.gc
if (collectGarbage === undefined) throw new Error('started without --expose-gc')
await using opened = await openExpiringStore(task)
await opened.documents.count()
history.note({ kind: 'event', name: 'started', detail: '' })
const before = measure()
let [heapBytes, residentBytes] = [0, 0]
let isDone = false
const work = opened.store.runMaintenance().finally(() => {
  isDone = true
})
while (!isDone) {
  await Promise.race([sleep(SAMPLE_MS), work])
  const now = measure()
  heapBytes = Math.max(heapBytes, now.heapUsed - before.heapUsed)
  residentBytes = Math.max(residentBytes, now.rss - before.rss)
}
const { swept } = await work
const grown = { swept, heapBytes, residentBytes }
history.note({ kind: 'event', name: 'caughtUp', detail: JSON.stringify(grown) })

function measure(): NodeJS.MemoryUsage {
  collectGarbage?.()
  return process.memoryUsage()
}
